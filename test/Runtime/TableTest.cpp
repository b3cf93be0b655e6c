// Rules of the table, one test a rule: each is a compiler fault that must not become a wrong run.
#include "TableBuilder.h"

using namespace mopt::test;

static void expectRefused(TableBuilder &table, const char *text) {
  mopt_model *model = nullptr;
  EXPECT_FAIL(MOPT_E_TABLE, text, mopt_model_from_module(table.build(), &model, error));
  EXPECT_EQ(nullptr, model);
}

TEST(Table, OperandsExistAndLive) {
  TableBuilder a, b, c, d;
  chain(a, 2), chain(b, 3), chain(c, 2), chain(d, 2);
  a.step("s", {7}, 0, 1, {addOne});
  expectRefused(a, "is buffer 7 of 3");
  b.step("s", {2}, 0, 1, {addOne}); // arena buffer of steps 0 and 1
  expectRefused(b, "which lives from step 0 to 1");
  c.step("s", {0}, 1, 1, {addOne});
  expectRefused(c, "writes buffer 0, which is read-only");
  d.step("s", {0}, 2, 1, {addOne});
  expectRefused(d, "operands lie outside");
}

TEST(Table, Buffers) {
  TableBuilder a, b, c, d, e;
  chain(a, 2), chain(b, 2), chain(c, 2), chain(d, 2), chain(e, 2);
  a.buffers[2].first_step = 1, a.buffers[2].last_step = 0;
  expectRefused(a, "lives from step 1 to 0");
  b.buffers[2].align = 48;
  expectRefused(b, "alignment 48");
  c.buffers[2].kind = 9;
  expectRefused(c, "kind 9");
  d.buffers[1].dtype = MOPT_I32;
  expectRefused(d, "output 0 and its buffer 1 disagree");
  e.weight(MOPT_F32, {16}, 0);
  expectRefused(e, "outside the weights");
}

TEST(Table, Symbols) {
  TableBuilder forward, unbound, code, deep, late, nosteps;
  forward.symbol("a", MOPT_SYM_EXPR, {MOPT_X_SYM, 1});
  forward.symbol("b", MOPT_SYM_EXPR, {MOPT_X_CONST, 1});
  expectRefused(forward, "not defined before it");
  unbound.symbol("n");
  expectRefused(unbound, "no input has it");
  code.symbol("a", MOPT_SYM_EXPR, {MOPT_X_CONST, 1, MOPT_X_ADD});
  expectRefused(code, "word 2");
  deep.symbol("a", MOPT_SYM_EXPR, {MOPT_X_CONST, 1, MOPT_X_CONST, 2});
  expectRefused(deep, "leaves 2 values");
  late.symbol("k", MOPT_SYM_STEP, {}, 0);
  late.step("s", {}, 0, 1, {addOne});
  expectRefused(late, "which defines no symbols");
  nosteps.symbol("k", MOPT_SYM_STEP, {}, 0);
  expectRefused(nosteps, "ready after step 0 of 0");
}

TEST(Table, LateSizes) {
  TableBuilder arena, heap, use;
  mopt_size k = symbolSize(arena.symbol("k", MOPT_SYM_STEP, {}, 0));
  arena.step("count", {}, 0, 1, {addOne}, MOPT_STEP_DEFINES_SYMBOLS);
  arena.step("s", {}, 0, 1, {addOne});
  arena.arena(MOPT_F32, {k}, 1, 1);
  expectRefused(arena, "lies in the arena");
  heap.symbol("k", MOPT_SYM_STEP, {}, 0);
  heap.step("count", {}, 0, 1, {addOne}, MOPT_STEP_DEFINES_SYMBOLS);
  heap.heap(MOPT_F32, {k}, 0, 0);
  expectRefused(heap, "size is known after step 0");
  use.symbol("k", MOPT_SYM_STEP, {}, 0);
  use.step("count", {}, 0, k, {addOne}, MOPT_STEP_DEFINES_SYMBOLS);
  expectRefused(use, "number of chunks");
}

TEST(Table, Types) {
  TableBuilder text, rank;
  text.input("s", MOPT_STRING, {1});
  expectRefused(text, "element type string");
  rank.input("x", MOPT_F32, Dims(9, 1));
  expectRefused(rank, "9 dimensions");
}

TEST(Table, SubByteTypes) {
  TableBuilder table;
  table.input("x", MOPT_I4, {5});
  Model model = makeModel(table);
  Session session = makeSession(model.get());
  char data[3];
  mopt_array t = tensor(MOPT_I4, {5}, data);
  EXPECT_EQ(3u, t.bytes);
  EXPECT_OK(mopt_session_set_input(session.get(), 0, &t, error));
}
