/* Drives the adapter for GPGPU-Sim as that does: shaders ask, memories reply, and each packet comes
   out once, where it was sent, those of two terminals in order. Ends with 0 if that holds. With a
   word it does what the adapter must refuse. */

#include <assert.h>
#include <string.h>

#include "icnt.h"

enum { SHADERS = 3, MEMORIES = 1, ALL = SHADERS + MEMORIES, EACH = 40, REQUEST = 8, REPLY = 136 };

typedef struct {
  unsigned from, to, number;
} Message;

static int misuse(const char *what) {
  static Message message;
  mc_icnt_create(SHADERS, strcmp(what, "many") ? MEMORIES : -1u);
  mc_icnt_init();
  if (!strcmp(what, "long")) mc_icnt_push(0, SHADERS, &message, 5 * 32 + 1);
  if (!strcmp(what, "aside")) mc_icnt_push(0, 1, &message, REQUEST);
  if (!strcmp(what, "pop")) mc_icnt_pop(ALL);
  if (!strcmp(what, "push")) mc_icnt_push(0, -1u, &message, REQUEST);
  if (!strcmp(what, "room")) mc_icnt_has_buffer(1000000, REQUEST);
  return 0;
}

int main(int count, char **words) {
  if (count > 1) return misuse(words[1]);
  static Message requests[SHADERS][EACH], replies[SHADERS][EACH];
  unsigned asked[SHADERS] = {0}, heard[SHADERS] = {0}, served[SHADERS] = {0}, cycles = 0;
  mc_icnt_create(SHADERS, MEMORIES);
  mc_icnt_init();
  assert(!mc_icnt_busy() && mc_icnt_get_flit_size() == 32);
  unsigned done = 0;
  for (; done < SHADERS * EACH; cycles++) {
    assert(cycles < 20000);
    for (unsigned s = 0; s < SHADERS; s++) {
      const Message *reply = mc_icnt_pop(s);
      if (reply) {
        assert(reply->to == s && reply->number == heard[s]);
        heard[s]++;
        done++;
      }
      if (asked[s] == EACH || !mc_icnt_has_buffer(s, REQUEST)) continue;
      requests[s][asked[s]] = (Message){s, SHADERS, asked[s]};
      mc_icnt_push(s, SHADERS, &requests[s][asked[s]], REQUEST);
      asked[s]++;
    }
    if (mc_icnt_has_buffer(SHADERS, REPLY)) {
      const Message *request = mc_icnt_pop(SHADERS);
      if (request) {
        const unsigned s = request->from;
        assert(request->number == served[s]);
        replies[s][served[s]] = (Message){SHADERS, s, served[s]};
        mc_icnt_push(SHADERS, s, &replies[s][served[s]], REPLY);
        served[s]++;
      }
    }
    mc_icnt_transfer();
  }
  assert(!mc_icnt_busy());
  /* The link of the memory is busy for five flits with each reply. */
  assert(cycles > 5 * done && cycles < 6 * done);
  mc_icnt_display_stats();
  return 0;
}
