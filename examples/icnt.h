/* The functions of GPGPU-Sim's icnt_wrapper, on two networks of a library in C: requests go through
   one, from shaders to memory, and replies through the other. */

#ifndef MC_ICNT_H
#define MC_ICNT_H

#include <stdbool.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

void mc_icnt_create(unsigned shaders, unsigned memories);
void mc_icnt_init(void);
bool mc_icnt_has_buffer(unsigned input, unsigned size);
void mc_icnt_push(unsigned input, unsigned output, void *data, unsigned size);
void *mc_icnt_pop(unsigned output);
void mc_icnt_transfer(void);
bool mc_icnt_busy(void);
void mc_icnt_display_stats(void);
void mc_icnt_display_overall_stats(void);
void mc_icnt_display_state(FILE *file);
unsigned mc_icnt_get_flit_size(void);

#ifdef __cplusplus
}
#endif

#endif
