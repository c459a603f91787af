/* See icnt.h. The network has packets of flits, of which the longest must fit, and payloads that
   have room for a pointer:

       multicube export torus k=8 length=1:5 payload=64 --c network

   Shader X is terminal X, and memory Y is terminal (shaders + Y). */

#include "icnt.h"

#include <stdint.h>
#include <stdlib.h>

#include "mc.h"

#ifndef FLIT_BYTES
#define FLIT_BYTES 32 /* that a flit stands for, whatever the width of the payload */
#endif

enum { NETS = 2, QUEUE = 64 /* packets that wait at an input, or at an output */ };

typedef struct {
  void *data;
  uint64_t tag;
  unsigned flits;
} Packet;

typedef struct {
  Packet packets[QUEUE];
  unsigned first, count;
} Queue;

typedef struct {
  mc_network *network;
  Queue entering[MC_SOURCES], left[MC_SINKS];
  unsigned sent[MC_SOURCES]; /* flits of the first packet that have been offered */
} Net;

static Net nets[NETS];
static unsigned shader_count, terminals;
static unsigned long pushed, popped, cycles;

static void stop(const char *what) {
  fprintf(stderr, "multicube: %s\n", what);
  exit(1);
}

static void check(int code) {
  if (code < 0) stop(mc_text(code));
}

static Packet *head(Queue *queue) { return queue->packets + queue->first; }

static void append(Queue *queue, Packet packet) {
  queue->packets[(queue->first + queue->count++) % QUEUE] = packet;
}

static Packet removed(Queue *queue) {
  const Packet packet = *head(queue);
  queue->first = (queue->first + 1) % QUEUE;
  queue->count--;
  return packet;
}

/* The network into which a terminal sends: 0 for requests. It receives from the other one. */
static Net *net_of(unsigned input) { return nets + (input >= shader_count); }

static unsigned checked(unsigned terminal) {
  if (terminal >= terminals) stop("there is no such terminal");
  return terminal;
}

void mc_icnt_create(unsigned shaders, unsigned memories) {
  const unsigned most = MC_SOURCES < MC_SINKS ? MC_SOURCES : MC_SINKS;
  if (shaders > most || memories > most - shaders)
    stop("the network has fewer terminals than there are shaders and memories");
  shader_count = shaders;
  terminals = shaders + memories;
  for (int i = 0; i < NETS; i++) {
    mc_destroy(nets[i].network);
    if (!(nets[i].network = mc_create())) stop("there is no memory for a network");
  }
}

void mc_icnt_init(void) {
  for (int i = 0; i < NETS; i++) {
    mc_network *network = nets[i].network;
    check(mc_reset(network));
    nets[i] = (Net){.network = network};
  }
  pushed = popped = cycles = 0;
}

bool mc_icnt_has_buffer(unsigned input, unsigned size) {
  (void)size;
  return net_of(input)->entering[checked(input)].count < QUEUE;
}

void mc_icnt_push(unsigned input, unsigned output, void *data, unsigned size) {
  Packet packet = {data, 0, (size + FLIT_BYTES - 1) / FLIT_BYTES};
  if (!packet.flits) packet.flits = 1;
  if (packet.flits > MC_LONGEST) stop("a packet is longer than those of the network (length=)");
  if ((input < shader_count) == (checked(output) < shader_count))
    stop("a packet goes from a shader to a memory, or back");
  if (!mc_icnt_has_buffer(input, size)) stop("a packet is pushed where there is no room");
  check(mc_tag((int)input, (int)output, &packet.tag));
  append(&net_of(input)->entering[input], packet);
  pushed++;
}

void *mc_icnt_pop(unsigned output) {
  Queue *queue = &nets[output < shader_count].left[checked(output)];
  if (!queue->count) return NULL;
  popped++;
  return removed(queue).data;
}

static void offer(Net *net, int source) {
  Queue *queue = net->entering + source;
  if (!queue->count || mc_busy(net->network, source)) return;
  const Packet *packet = head(queue);
  const mc_flit flit = {
    .tag = net->sent[source] ? 0 : packet->tag,
    .payload = (uintptr_t)packet->data,
    .last = net->sent[source] + 1 == packet->flits,
  };
  check(mc_offer(net->network, source, &flit));
  net->sent[source]++;
  if (!flit.last) return;
  removed(queue);
  net->sent[source] = 0;
}

static void take(Net *net, int sink) {
  mc_flit flit;
  if (net->left[sink].count == QUEUE) return;
  const int code = mc_take(net->network, sink, &flit);
  check(code);
  if (code == MC_OK && flit.last)
    append(net->left + sink, (Packet){(void *)(uintptr_t)flit.payload, 0, 0});
}

void mc_icnt_transfer(void) {
  for (Net *net = nets; net < nets + NETS; net++) {
    for (int source = 0; source < MC_SOURCES; source++) offer(net, source);
    check(mc_step(net->network, 1));
    for (int sink = 0; sink < MC_SINKS; sink++) take(net, sink);
  }
  cycles++;
}

bool mc_icnt_busy(void) { return pushed > popped; }

void mc_icnt_display_stats(void) {
  printf("multicube: %lu cycles, %lu packets pushed, %lu popped\n", cycles, pushed, popped);
}

void mc_icnt_display_overall_stats(void) { mc_icnt_display_stats(); }

void mc_icnt_display_state(FILE *file) {
  for (int i = 0; i < NETS; i++)
    for (int source = 0; source < MC_SOURCES; source++)
      if (nets[i].entering[source].count)
        fprintf(file, "multicube: network %d, terminal %d: %u packets wait\n", i, source,
                nets[i].entering[source].count);
}

unsigned mc_icnt_get_flit_size(void) { return FLIT_BYTES; }
