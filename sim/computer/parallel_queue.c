/* Cores append to a queue at the same time, and none waits for another. */
#include "multicube.h"

volatile int end;        /* places that are taken */
volatile int queue[64];

int main(void) {
  for (int turn = 0; turn < 2; turn++) {
    int item = 10 * mc_id() + turn;
    int place = mc_fetch_add(&end, 1);
    queue[place] = item;
  }
  mc_barrier();
  if (mc_id() == 0)
    for (int place = 0; place < end; place++) {
      mc_print_int(queue[place]);
      mc_print(" ");
    }
  return 0;
}
