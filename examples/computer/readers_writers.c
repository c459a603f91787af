/* Readers and writers: readers never wait for each other, and nobody passes a critical section to
 * become one. A writer takes a ticket; readers stay out while there is one. */
#include "multicube.h"

#ifndef ROUNDS
#define ROUNDS 4
#endif
#define WORDS 4

volatile int readers, tickets, finished;
volatile int words[WORDS]; /* all alike, but for a reader who sees a writer at work */
volatile int mistakes, writes;

static void read(void) {
  for (;;) {
    while (tickets != finished) {
    }
    mc_fetch_add(&readers, 1);
    if (tickets == finished) {
      break;
    }
    mc_fetch_add(&readers, -1);
  }
  int first = words[0];
  for (int i = 1; i < WORDS; i++) {
    if (words[i] != first) {
      mc_fetch_add(&mistakes, 1);
    }
  }
  mc_fetch_add(&readers, -1);
}

static void write(void) {
  int ticket = mc_fetch_add(&tickets, 1);
  while (finished != ticket) {
  }
  while (readers > 0) {
  }
  for (int i = 0; i < WORDS; i++) {
    words[i] = words[i] + 1;
  }
  writes = writes + 1;
  mc_fetch_add(&finished, 1);
}

int main(void) {
  for (int round = 0; round < ROUNDS; round++) {
    if ((mc_id() + round) % 4 == 0) {
      write();
    } else {
      read();
    }
  }
  return 0;
}
