/* A ticket barrier, written out. Each core takes a ticket, and waits until all tickets of its round
 * are taken. What a core wrote before is seen by all after it. */
#include "multicube.h"

#define ROUNDS 4

volatile int tickets;        /* given out so far */
volatile int marks[1024];    /* the last round that each core has finished */
volatile int mistakes;

static void barrier(void) {
  int ticket = mc_fetch_add(&tickets, 1);
  int end = ticket / mc_count() * mc_count() + mc_count();
  while (tickets < end) {
  }
}

int main(void) {
  int neighbour = (mc_id() + 1) % mc_count();
  for (int round = 1; round <= ROUNDS; round++) {
    marks[mc_id()] = round;
    barrier();
    if (marks[neighbour] < round) {
      mc_fetch_add(&mistakes, 1);
    }
  }
  barrier();
  if (mc_id() == 0) {
    mc_print("mistakes: ");
    mc_print_int(mistakes);
    mc_print("\n");
  }
  return mistakes;
}
