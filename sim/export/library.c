/* The library around the driver of the compiled engine. The tables before it describe the network. */

#include <stdlib.h>
#include <string.h>

#define ALIGNMENT 64

/* Of an instance all that changes is in one block: two times the wires, of this cycle and of the
   next one, and then the rest: cycles, flits at sinks, registers and memories of the cells. */
#define WIRES_BYTES ((size_t)WIRES * sizeof(uint32_t))
#define WIRES_ROOM ((WIRES_BYTES + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT)

struct mc_network {
  Context context;
  Type types[TYPES];
  Task tasks[TASKS];
  void *memories[MEMORIES];
  unsigned char *rest; /* the first 8 bytes are the number of cycles, then come flits at sinks */
  void *memory;        /* what `free` gets: the block, before it is aligned */
};

typedef struct {
  uint64_t identity, sum;
} Head;

const char *mc_text(int code) {
  switch (code) {
    case MC_OK: return "all is well";
    case MC_BUSY: return "the source still has a flit that has not entered";
    case MC_EMPTY: return "there is no flit at the sink";
    case MC_NULL: return "a pointer is null";
    case MC_NO_TERMINAL: return "there is no such source or sink";
    case MC_TOO_WIDE: return "a field of the flit does not fit its width";
    case MC_BAD_STATE: return "the state is damaged, or of another network";
    case MC_ASSERTION: return "an assertion of the hardware failed";
  }
  return "there is no such code";
}

static uint64_t ones(unsigned width) { return width < 64 ? ((uint64_t)1 << width) - 1 : ~(uint64_t)0; }

/* Up to 64 bits of some words. */
static uint64_t part(const uint32_t *words, unsigned at, unsigned width) {
  uint64_t x = 0;
  for (unsigned done = 0, some; done < width; done += some) {
    const unsigned bit = (at + done) % 32;
    some = 32 - bit < width - done ? 32 - bit : width - done;
    x |= (words[(at + done) / 32] >> bit & ones(some)) << done;
  }
  return x;
}

static void put(uint32_t *words, unsigned at, unsigned width, uint64_t x) {
  for (unsigned done = 0, some; done < width; done += some) {
    const unsigned bit = (at + done) % 32;
    some = 32 - bit < width - done ? 32 - bit : width - done;
    words[(at + done) / 32] |= (uint32_t)((x >> done & ones(some)) << bit);
  }
}

/* The bits of a word of a flit. The engine keeps a single bit as a mask. */
static uint32_t limit(int word) {
  const int width = word < MC_FLIT_WORDS - 1 ? 32 : MC_FLIT_BITS - 32 * word;
  return (uint32_t)ones((unsigned)width);
}

static uint32_t as_wire(int word, uint32_t x) {
  x &= limit(word);
  return limit(word) == 1 ? -x : x;
}

/* A wire from the host keeps its value, whichever cycle is computed. */
static void drive(mc_network *n, int32_t wire, uint32_t value) {
  n->context.now[wire] = n->context.next[wire] = value;
}

static uint32_t *arrived(mc_network *n, int sink) {
  return (uint32_t *)(n->rest + 8) + sink * MC_FLIT_WORDS;
}

static uint64_t cycle_of(const mc_network *n) {
  uint64_t cycle;
  memcpy(&cycle, n->rest, sizeof cycle);
  return cycle;
}

static void tick(mc_network *n) {
  const uint64_t cycle = cycle_of(n) + 1;
  memcpy(n->rest, &cycle, sizeof cycle);
}

static void fill(unsigned char *to, const Contents *from) {
  for (uint32_t i = 0; i < from->count; i++) {
    if (from->bytes == 1) to[i] = (unsigned char)from->value;
    if (from->bytes == 2) ((uint16_t *)(void *)to)[i] = (uint16_t)from->value;
    if (from->bytes == 4) ((uint32_t *)(void *)to)[i] = from->value;
  }
}

int mc_reset(mc_network *n) {
  if (!n) return MC_NULL;
  memset(n->context.now, 0, WIRES_BYTES);
  memset(n->context.next, 0, WIRES_BYTES);
  memset(n->rest, 0, REST_BYTES);
  for (long i = 0; i < (long)(sizeof contents / sizeof *contents); i++)
    fill(n->rest + contents[i].at, contents + i);
  for (int sink = 0; sink < MC_SINKS; sink++) drive(n, sinks[sink].ready, ~(uint32_t)0);
  n->context.event = -1;
  publish(&n->context);
  return MC_OK;
}

mc_network *mc_create(void) {
  mc_network *n = calloc(1, sizeof *n);
  void *memory = malloc(2 * WIRES_ROOM + REST_BYTES + ALIGNMENT);
  if (!n || !memory) {
    free(n);
    free(memory);
    return NULL;
  }
  n->memory = memory;
  unsigned char *block = memory;
  block += (ALIGNMENT - (uintptr_t)block % ALIGNMENT) % ALIGNMENT;
  n->rest = block + 2 * WIRES_ROOM;
  memcpy(n->types, types, sizeof types);
  for (int i = 0, next = 0; i < TYPES; i++) {
    n->types[i].state = (uint32_t *)(void *)(n->rest + places[i].state);
    n->types[i].memories = n->memories + next;
    for (int last = next + places[i].memories; next < last; next++)
      n->memories[next] = n->rest + memory_places[next];
  }
  memcpy(n->tasks, tasks, sizeof n->tasks);
  for (int i = 0; i < TASK_COUNT; i++) n->tasks[i].type = n->types + (tasks[i].type - types);
  n->context = (Context){
    .now = (uint32_t *)(void *)block,
    .next = (uint32_t *)(void *)(block + WIRES_ROOM),
    .types = n->types,
    .type_count = TYPES,
    .tasks = n->tasks,
    .task_count = TASK_COUNT,
  };
  mc_reset(n);
  return n;
}

void mc_destroy(mc_network *n) {
  if (!n) return;
  free(n->memory);
  free(n);
}

int mc_tag(int source, int sink, uint64_t *tag) {
  if (!tag) return MC_NULL;
  if (source < 0 || source >= MC_SOURCES || sink < 0 || sink >= MC_SINKS) return MC_NO_TERMINAL;
  *tag = combined(source_tags[source], sink_tags[sink]);
  return MC_OK;
}

int mc_busy(const mc_network *n, int source) {
  if (!n) return MC_NULL;
  if (source < 0 || source >= MC_SOURCES) return MC_NO_TERMINAL;
  return n->context.now[sources[source].valid] ? MC_BUSY : MC_OK;
}

int mc_offer_bits(mc_network *n, int source, const uint32_t *bits) {
  if (!n || !bits) return MC_NULL;
  const int busy = mc_busy(n, source);
  if (busy) return busy;
  for (int word = 0; word < MC_FLIT_WORDS; word++)
    drive(n, sources[source].payload[word], as_wire(word, bits[word]));
  drive(n, sources[source].valid, ~(uint32_t)0);
  return MC_OK;
}

int mc_offer(mc_network *n, int source, const mc_flit *flit) {
  if (!n || !flit) return MC_NULL;
  uint32_t bits[MC_FLIT_WORDS];
  memcpy(bits, always, sizeof bits);
  for (int i = 0; i < FIELDS; i++) {
    uint64_t x;
    memcpy(&x, (const char *)flit + fields[i].member, sizeof x);
    if (x & ~ones(fields[i].width)) return MC_TOO_WIDE;
    put(bits, fields[i].at, fields[i].width, x);
  }
  return mc_offer_bits(n, source, bits);
}

int mc_step(mc_network *n, uint64_t cycles) {
  if (!n) return MC_NULL;
  for (; cycles; cycles--) {
    if (n->context.event >= 0 || run(&n->context, 1) < 1) return MC_ASSERTION;
    const uint32_t *was = n->context.next; /* the cycle that is over */
    for (int i = 0; i < MC_SOURCES; i++)
      if (was[sources[i].valid] & was[sources[i].ready]) drive(n, sources[i].valid, 0);
    for (int i = 0; i < MC_SINKS; i++) {
      if (!(was[sinks[i].valid] & was[sinks[i].ready])) continue;
      for (int word = 0; word < MC_FLIT_WORDS; word++)
        arrived(n, i)[word] = was[sinks[i].payload[word]] & limit(word);
      drive(n, sinks[i].ready, 0);
    }
    tick(n);
  }
  return MC_OK;
}

int mc_take_bits(mc_network *n, int sink, uint32_t *bits) {
  if (!n || !bits) return MC_NULL;
  if (sink < 0 || sink >= MC_SINKS) return MC_NO_TERMINAL;
  if (n->context.now[sinks[sink].ready]) return MC_EMPTY;
  memcpy(bits, arrived(n, sink), MC_FLIT_WORDS * sizeof *bits);
  drive(n, sinks[sink].ready, ~(uint32_t)0);
  return MC_OK;
}

int mc_take(mc_network *n, int sink, mc_flit *flit) {
  if (!n || !flit) return MC_NULL;
  uint32_t bits[MC_FLIT_WORDS];
  const int code = mc_take_bits(n, sink, bits);
  for (int i = 0; i < FIELDS && code == MC_OK; i++) {
    const uint64_t x = part(bits, fields[i].at, fields[i].width);
    memcpy((char *)flit + fields[i].member, &x, sizeof x);
  }
  return code;
}

uint64_t mc_cycle(const mc_network *n) { return n ? cycle_of(n) : 0; }

/* Fowler, Noll and Vo's hash, of 64 bits. */
static uint64_t hash(const unsigned char *from, size_t bytes) {
  uint64_t sum = 0xCBF29CE484222325;
  for (size_t i = 0; i < bytes; i++) sum = (sum ^ from[i]) * 0x100000001B3;
  return sum;
}

#define STATE_BYTES (sizeof(Head) + WIRES_BYTES + REST_BYTES)

size_t mc_state_bytes(void) { return STATE_BYTES; }

int mc_save(const mc_network *n, void *state, size_t bytes) {
  if (!n || !state) return MC_NULL;
  if (bytes < STATE_BYTES) return MC_BAD_STATE;
  if (n->context.event >= 0) return MC_ASSERTION;
  unsigned char *body = (unsigned char *)state + sizeof(Head);
  memcpy(body, n->context.now, WIRES_BYTES);
  memcpy(body + WIRES_BYTES, n->rest, REST_BYTES);
  const Head head = {IDENTITY, hash(body, STATE_BYTES - sizeof head)};
  memcpy(state, &head, sizeof head);
  return MC_OK;
}

static void put_state(mc_network *n, const void *wires, const void *rest) {
  memcpy(n->context.now, wires, WIRES_BYTES);
  memcpy(n->context.next, wires, WIRES_BYTES);
  memcpy(n->rest, rest, REST_BYTES);
}

int mc_restore(mc_network *n, const void *state, size_t bytes) {
  if (!n || !state) return MC_NULL;
  if (bytes < STATE_BYTES) return MC_BAD_STATE;
  const unsigned char *body = (const unsigned char *)state + sizeof(Head);
  Head head;
  memcpy(&head, state, sizeof head);
  if (head.identity != IDENTITY || head.sum != hash(body, STATE_BYTES - sizeof head))
    return MC_BAD_STATE;
  put_state(n, body, body + WIRES_BYTES);
  n->context.event = -1;
  return MC_OK;
}

mc_network *mc_copy(const mc_network *n) {
  mc_network *copy = n ? mc_create() : NULL;
  if (!copy) return NULL;
  put_state(copy, n->context.now, n->rest);
  copy->context.event = n->context.event;
  return copy;
}
