/* Loads a model, runs it once, prints the first output value.
 * cc minimal.c -I include -L build/lib/Runtime -lmopt_rt && ./a.out model.so */
#include "mopt/Runtime/mopt.h"
#include <stdio.h>

#define TRY(call) if ((call) != MOPT_OK) return fprintf(stderr, "error %s\n", error.message), 2

int main(int argc, char **argv) {
  static float data[1 << 20]; /* all inputs: zeros; free sizes: 1 */
  mopt_error error;
  mopt_model *model;
  mopt_session *session;
  if (argc != 2) return fprintf(stderr, "usage: %s model.so\n", argv[0]), 2;
  TRY(mopt_model_load(argv[1], &model, &error));
  TRY(mopt_session_create(model, NULL, &session, &error));
  mopt_tensor_info info;
  for (uint32_t i = 0; mopt_model_input(model, i, &info) == MOPT_OK; ++i) {
    mopt_tensor input = {.data = data, .dtype = info.dtype, .rank = info.rank, .bytes = mopt_dtype_bits(info.dtype) / 8};
    for (uint32_t d = 0; d < info.rank; ++d)
      input.bytes *= (uint64_t)(input.dims[d] = info.dims[d] < 0 ? 1 : info.dims[d]);
    if (input.bytes > sizeof data) return fprintf(stderr, "input %s is too large for this example\n", info.name), 2;
    TRY(mopt_session_set_input(session, i, &input, &error));
  }
  mopt_tensor output;
  TRY(mopt_session_run(session, NULL, &error));
  TRY(mopt_session_output(session, 0, &output, &error));
  if (output.dtype == MOPT_F32 && output.bytes) printf("%g\n", ((float *)output.data)[0]);
  mopt_session_free(session), mopt_model_free(model);
}
