/* What a program for a parallel computer of multicube finds there. Every core runs main.
 *
 * Globals are shared by all cores, and so is what pointers to them reach. Locals are on the stack,
 * which is in the core's own memory. A global that is declared mc_own exists once in each core.
 * Constants are in the core's copy of the program.
 *
 * Each access to shared memory is one request to the network, and a core goes on when it has been
 * answered; so all cores see one order of all accesses.
 */
#ifndef MULTICUBE_H
#define MULTICUBE_H

#define mc_own __attribute__((section(".own")))

#define MC_INLINE static inline __attribute__((always_inline, nodebug))

/* The devices of a core, in this order from MC_DEVICES on. */
struct mc_devices {
  int number, count, cycle, print_character, print_integer, exit;
  int destination, send, receive, sender, arrived;
};
#define MC_DEVICE ((volatile struct mc_devices *)MC_DEVICES)

/* The number of this core, from 0 on; and how many there are. */
MC_INLINE int mc_id(void) { return MC_DEVICE->number; }
MC_INLINE int mc_count(void) { return MC_DEVICE->count; }

/* The number of this cycle. */
MC_INLINE int mc_cycle(void) { return MC_DEVICE->cycle; }

/* Updates of a shared word in one indivisible step. Each returns the old value.
 *
 * The bits above a shared address choose what a store does; a load there is the old value that this
 * core's last update found.
 */
MC_INLINE int mc_update(volatile int *word, unsigned window, int value) {
  volatile int *place = (volatile int *)((unsigned)word | window << MC_WINDOW_SHIFT);
  __asm__ volatile("" ::: "memory");
  *place = value;
  value = *place;
  __asm__ volatile("" ::: "memory");
  return value;
}
MC_INLINE int mc_fetch_add(volatile int *word, int value) { return mc_update(word, 1, value); }
MC_INLINE int mc_fetch_and(volatile int *word, int value) { return mc_update(word, 2, value); }
MC_INLINE int mc_fetch_or(volatile int *word, int value) { return mc_update(word, 3, value); }
MC_INLINE int mc_fetch_xor(volatile int *word, int value) { return mc_update(word, 4, value); }
MC_INLINE int mc_swap(volatile int *word, int value) { return mc_update(word, 5, value); }
MC_INLINE int mc_fetch_min(volatile int *word, int value) { return mc_update(word, 6, value); }
MC_INLINE int mc_fetch_max(volatile int *word, int value) { return mc_update(word, 7, value); }

/* Wait for all cores. Each adds 1 to a word, and loads it until all have. */
extern volatile int mc_barrier_arrived;
extern int mc_barrier_awaited;
MC_INLINE void mc_barrier(void) {
  mc_barrier_awaited += mc_count();
  mc_fetch_add(&mc_barrier_arrived, 1);
  while (mc_barrier_arrived - mc_barrier_awaited < 0) {
  }
  __asm__ volatile("" ::: "memory");
}

/* Messages: send a word to a core, once the network takes it; receive the next word that has arrived,
 * once there is one, and who sent it (or 0, for nobody asks); whether a word has arrived. Messages may
 * overtake each other if the network lets them. */
#define MC_USES_MESSAGES __asm__ volatile(".set mc_uses_messages, 1" ::: "memory")
MC_INLINE void mc_send(int core, int word) {
  MC_USES_MESSAGES;
  MC_DEVICE->destination = core;
  MC_DEVICE->send = word;
}
MC_INLINE int mc_receive(int *sender) {
  MC_USES_MESSAGES;
  int word = MC_DEVICE->receive;
  if (sender) {
    *sender = MC_DEVICE->sender;
  }
  return word;
}
MC_INLINE int mc_arrived(void) {
  MC_USES_MESSAGES;
  return MC_DEVICE->arrived;
}

/* Print. The lines of each core are kept apart. */
MC_INLINE void mc_print_int(int value) { MC_DEVICE->print_integer = value; }
MC_INLINE void mc_print_char(char value) { MC_DEVICE->print_character = value; }
void mc_print(const char *text);

/* End this core, as a return from main does. A result that is not 0 is a failure. */
MC_INLINE __attribute__((noreturn)) void mc_exit(int result) {
  MC_DEVICE->exit = result;
  for (;;) {
  }
}

#endif
