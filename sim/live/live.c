/* Follows the driver of the compiled engine: runs cycles while it watches the links of the page. */

extern const int32_t watched[][2]; /* of each link: the wires of valid and ready */
extern const long watched_count;
extern uint32_t crossed[], refused[]; /* cycles in which a flit crossed, or waited for ready */
extern const int32_t entries[];   /* of each entry: link, wire and bit of last, wires of the payload */
extern const long entry_count, header_words, kept;
extern uint32_t headers[]; /* of each entry and packet: flits that have entered, and the header */
extern uint32_t begun[], amid[]; /* of each entry: packets, and whether one has entered in part */
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
  for (long n = 0; n < entry_count; n++) {
    const int32_t *entry = entries + n * (3 + header_words);
    if (!(now[watched[entry[0]][0]] & now[watched[entry[0]][1]] & 1)) continue;
    if (!amid[n]) begun[n]++;
    uint32_t *header = headers + (n * kept + (begun[n] - 1) % kept) * (1 + header_words);
    if (!amid[n]) {
      header[0] = 0;
      for (long word = 0; word < header_words; word++) header[1 + word] = now[entry[3 + word]];
    }
    header[0]++;
    amid[n] = !(now[entry[1]] >> entry[2] & 1);
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
