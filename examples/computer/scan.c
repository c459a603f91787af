/* The Connection Machine's scan, by messages: each core gets the sum of the numbers of all cores up
 * to itself. In step k a core sends its sum to the core 2^k further on. Messages may overtake each
 * other; who sent one says which step it belongs to. (W. D. Hillis and G. L. Steele, "Data parallel
 * algorithms", Communications of the ACM 29, 1986.) */
#include "multicube.h"

#define STEPS 10

int main(void) {
  int id = mc_id(), count = mc_count();
  int waiting[STEPS], there[STEPS];
  for (int step = 0; step < STEPS; step++) {
    there[step] = 0;
  }
  int sum = id * id + 1;
  for (int step = 0, apart = 1; apart < count; step++, apart *= 2) {
    if (id + apart < count) {
      mc_send(id + apart, sum);
    }
    if (id < apart) {
      continue;
    }
    while (!there[step]) {
      int sender, word = mc_receive(&sender), which = 0;
      while (id - sender != 1 << which) {
        which++;
      }
      waiting[which] = word;
      there[which] = 1;
    }
    sum += waiting[step];
  }
  mc_print_int(sum);
  mc_print("\n");
  return 0;
}
