/* Follows the driver of the compiled engine: runs cycles while it watches the links of the page. */

extern const int32_t watched[][2]; /* of each link: the wires of valid and ready */
extern const long watched_count;
extern uint32_t crossed[], refused[]; /* cycles in which a flit crossed, or waited for ready */
extern Context context;
extern void *const tables[];

__attribute__((export_name("table"))) void *table(long number) { return tables[number]; }
__attribute__((export_name("wires"))) uint32_t *wires(void) { return context.now; }
__attribute__((export_name("event"))) long event(long part) {
  return part == 0 ? context.event : part == 1 ? context.event_type - context.types : context.event_cell;
}
__attribute__((export_name("publish_all"))) void publish_all(void) { publish(&context); }
__attribute__((export_name("settle_all"))) void settle_all(void) { settle(&context); }

static void watch(const uint32_t *now) {
  for (long n = 0; n < watched_count; n++) {
    const uint32_t valid = now[watched[n][0]] & 1, ready = now[watched[n][1]] & 1;
    crossed[n] += valid & ready;
    refused[n] += valid & ~ready;
  }
}

/* As `run`: returns how many cycles were done. */
__attribute__((export_name("advance"))) long advance(long cycles) {
  Context *c = &context;
  for (long n = 0; n < cycles; n++) {
    evaluate(c);
    for (const Type *t = c->types; t < c->types + c->type_count; t++) t->update(c, t, 0, t->cells);
    if (c->event >= 0) return n;
    watch(c->now);
    uint32_t *wires = c->now;
    c->now = c->next;
    c->next = wires;
  }
  return cycles;
}

__attribute__((export_name("reset"))) void reset(void) { context.event = -1; }
