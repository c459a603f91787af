/* What a library in C promises besides cycles: codes, states, instances side by side. It is told a
   network of two or more sources and sinks whose packets are single flits; and ends with the line
   of what does not hold, or with 0. */

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mc.h"

#define HOLDS(condition) \
  do { \
    if (!(condition)) { \
      fprintf(stderr, "line %d: %s\n", __LINE__, #condition); \
      exit(1); \
    } \
  } while (0)

/* Traffic that depends on `seed` only: the sum of all that has arrived, by cycle and sink. */
static uint64_t traffic(mc_network *network, uint64_t seed, int cycles) {
  uint64_t sum = 0, x = seed;
  for (int cycle = 0; cycle < cycles; cycle++) {
    for (int terminal = 0; terminal < MC_SOURCES; terminal++) {
      x = x * 6364136223846793005u + 1442695040888963407u;
      mc_flit flit = {0};
      HOLDS(mc_tag(terminal, (int)(x >> 40) % MC_SINKS, &flit.tag) == MC_OK);
      flit.payload = x >> 56;
      const int code = mc_offer(network, terminal, &flit);
      HOLDS(code == MC_OK || code == MC_BUSY);
    }
    HOLDS(mc_step(network, 1) == MC_OK);
    for (int sink = cycle % 3 ? 0 : 1; sink < MC_SINKS; sink++) {
      mc_flit flit;
      if (mc_take(network, sink, &flit) == MC_OK)
        sum = (sum * 31 + (uint64_t)sink) * 31 + flit.payload + mc_cycle(network);
    }
  }
  return sum;
}

typedef struct {
  pthread_t thread;
  uint64_t seed, sum;
} Job;

static void *perform(void *job) {
  Job *own = job;
  mc_network *network = mc_create();
  HOLDS(network);
  own->sum = traffic(network, own->seed, 200);
  mc_destroy(network);
  return NULL;
}

static void threads(mc_network *network) {
  Job jobs[2] = {{.seed = 1}, {.seed = 2}};
  for (int i = 0; i < 2; i++)
    HOLDS(!pthread_create(&jobs[i].thread, NULL, perform, jobs + i));
  for (int i = 0; i < 2; i++) {
    HOLDS(!pthread_join(jobs[i].thread, NULL));
    HOLDS(mc_reset(network) == MC_OK && mc_cycle(network) == 0);
    HOLDS(traffic(network, jobs[i].seed, 200) == jobs[i].sum);
  }
  HOLDS(jobs[0].sum != jobs[1].sum);
}

static void states(mc_network *network) {
  const size_t bytes = mc_state_bytes();
  unsigned char *state = malloc(bytes), *again = malloc(bytes);
  HOLDS(state && again);
  traffic(network, 3, 100);
  HOLDS(mc_save(network, state, bytes) == MC_OK);
  const uint64_t cycle = mc_cycle(network), sum = traffic(network, 4, 100);
  mc_network *other = mc_create();
  HOLDS(mc_restore(other, state, bytes) == MC_OK && mc_cycle(other) == cycle);
  HOLDS(mc_save(other, again, bytes) == MC_OK && !memcmp(state, again, bytes));
  HOLDS(traffic(other, 4, 100) == sum);
  HOLDS(mc_save(other, again, bytes) == MC_OK);
  for (size_t at = 0; at < bytes; at += bytes / 7) {
    state[at] ^= 4;
    HOLDS(mc_restore(other, state, bytes) == MC_BAD_STATE);
    state[at] ^= 4;
  }
  HOLDS(mc_restore(other, state, bytes - 1) == MC_BAD_STATE);
  HOLDS(mc_save(other, state, bytes - 1) == MC_BAD_STATE);
  HOLDS(mc_save(other, state, bytes) == MC_OK && !memcmp(state, again, bytes));
  HOLDS(mc_save(NULL, state, bytes) == MC_NULL && mc_save(other, NULL, bytes) == MC_NULL);
  HOLDS(mc_restore(NULL, state, bytes) == MC_NULL && mc_restore(other, NULL, bytes) == MC_NULL);
  mc_destroy(other);
  other = mc_copy(network);
  HOLDS(mc_cycle(other) == mc_cycle(network) && traffic(other, 5, 100) == traffic(network, 5, 100));
  HOLDS(mc_step(other, 1) == MC_OK && mc_cycle(other) == mc_cycle(network) + 1);
  HOLDS(!mc_copy(NULL));
  mc_destroy(other);
  free(state);
  free(again);
}

static void codes(mc_network *network) {
  mc_flit flit = {0};
  uint32_t bits[MC_FLIT_WORDS] = {0};
  HOLDS(mc_reset(network) == MC_OK);
  HOLDS(mc_tag(0, 0, &flit.tag) == MC_OK);
  HOLDS(mc_tag(-1, 0, &flit.tag) == MC_NO_TERMINAL && mc_tag(0, MC_SINKS, &flit.tag) < 0);
  HOLDS(mc_tag(MC_SOURCES, 0, &flit.tag) == MC_NO_TERMINAL && mc_tag(0, 0, NULL) == MC_NULL);
  HOLDS(mc_busy(network, 0) == MC_OK && mc_busy(network, MC_SOURCES) == MC_NO_TERMINAL);
  HOLDS(mc_offer(network, MC_SOURCES, &flit) == MC_NO_TERMINAL);
  HOLDS(mc_offer(network, -1, &flit) == MC_NO_TERMINAL);
  HOLDS(mc_offer(network, 0, NULL) == MC_NULL && mc_offer_bits(network, 0, NULL) == MC_NULL);
  HOLDS(mc_take(network, MC_SINKS, &flit) == MC_NO_TERMINAL);
  HOLDS(mc_take_bits(network, -1, bits) == MC_NO_TERMINAL);
  HOLDS(mc_take(network, 0, NULL) == MC_NULL && mc_take_bits(network, 0, NULL) == MC_NULL);
  HOLDS(mc_busy(NULL, 0) == MC_NULL && mc_offer(NULL, 0, &flit) == MC_NULL);
  HOLDS(mc_offer_bits(NULL, 0, bits) == MC_NULL && mc_take_bits(NULL, 0, bits) == MC_NULL);
  HOLDS(mc_take(NULL, 0, &flit) == MC_NULL && mc_step(NULL, 1) == MC_NULL);
  HOLDS(mc_reset(NULL) == MC_NULL && mc_cycle(NULL) == 0);
  mc_flit wide = flit;
  wide.tag = ~(uint64_t)0;
  HOLDS(mc_offer(network, 0, &wide) == MC_TOO_WIDE && mc_busy(network, 0) == MC_OK);
  HOLDS(mc_take(network, 0, &flit) == MC_EMPTY);
  flit.payload = 5;
  HOLDS(mc_offer(network, 0, &flit) == MC_OK && mc_busy(network, 0) == MC_BUSY);
  HOLDS(mc_offer(network, 0, &flit) == MC_BUSY);
  HOLDS(mc_step(network, 0) == MC_OK && mc_cycle(network) == 0);
  HOLDS(mc_step(network, 1000) == MC_OK && mc_cycle(network) == 1000);
  flit.payload = 0;
  HOLDS(mc_take(network, 0, &flit) == MC_OK && flit.payload == 5);
  for (int a = MC_ASSERTION; a <= MC_EMPTY; a++)
    for (int b = MC_ASSERTION; b < a; b++) HOLDS(strcmp(mc_text(a), mc_text(b)));
  HOLDS(!strcmp(mc_text(99), "there is no such code"));
  mc_destroy(NULL);
}

int main(void) {
  mc_network *network = mc_create();
  HOLDS(network);
  codes(network);
  states(network);
  threads(network);
  mc_destroy(network);
  return 0;
}
