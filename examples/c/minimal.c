/* Runs a model on zeros. cc minimal.c -I include build/release/lib/Runtime/libmopt_rt.a -lpthread -ldl */
#include "mopt/Runtime/mopt.h"
#include <stdio.h>
#include <stdlib.h>

static mopt_error error;
static void try(mopt_code code) {
  if (code != MOPT_OK)
    fprintf(stderr, "error %s\n", error.message), exit(2);
}

int main(int argc, char **argv) {
  static mopt_model *model; /* for the life of the process: mopt_session_free and mopt_model_free would end it */
  static mopt_session *session;
  mopt_tensor_info info;
  try(mopt_model_load(argc > 1 ? argv[1] : "model.so", &model, &error));
  try(mopt_session_create(model, NULL, &session, &error));
  for (uint32_t i = 0; mopt_model_input(model, i, &info) == MOPT_OK; ++i) {
    mopt_array input = {.dtype = info.dtype, .rank = info.rank, .bytes = mopt_dtype_bits(info.dtype) / 8};
    for (uint32_t d = 0; d < info.rank; ++d)
      input.bytes *= (uint64_t)(input.dims[d] = info.dims[d] < 0 ? 1 : info.dims[d]);
    input.data = calloc(1, input.bytes + 1); /* the model uses this memory in place: keep it while it may run */
    try(mopt_session_set_input(session, i, &input, &error));
  }
  mopt_array output;
  try(mopt_session_run(session, NULL, &error));
  try(mopt_session_output(session, 0, &output, &error));
  if (output.dtype == MOPT_F32 && output.bytes)
    printf("%g\n", ((float *)output.data)[0]);
}
