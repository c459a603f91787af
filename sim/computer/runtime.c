/* What every program is linked with. */
#include "multicube.h"

int main(void);

volatile int mc_barrier_arrived;
mc_own int mc_barrier_awaited = 0;

__attribute__((naked, used, section(".text.start"))) void _start(void) {
  __asm__ volatile("la sp, mc_stack_top\n  j mc_start");
}

__attribute__((used)) void mc_start(void) { mc_exit(main()); }

void mc_print(const char *text) {
  while (*text) {
    mc_print_char(*text++);
  }
}
