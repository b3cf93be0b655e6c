/* Runs an artifact on raw files: what counts of instructions and runs under emulation need, with nothing but libmopt_rt.
 *
 *   raw_run MODEL.so OUTPUT_FOLDER THREADS REPEATS [NAME DTYPE DIMS FILE]...
 *
 * DTYPE is a number of enum mopt_dtype, DIMS is 1x3x224x224 or "" for a scalar. Output i goes to OUTPUT_FOLDER/i.bin; a line
 * "i NAME DTYPE DIMS" is printed for each. */
#include "mopt/Runtime/mopt.h"
#include <stdio.h>
#include <stdlib.h>

static mopt_error error;

static int fail(const char *what) {
  fprintf(stderr, "error %s\n", what);
  return 2;
}

static int readInput(mopt_session *session, char **words) {
  mopt_array tensor = {.dtype = (uint32_t)atoi(words[1])};
  for (char *at = words[2]; *at; at += *at == 'x')
    tensor.dims[tensor.rank++] = strtoll(at, &at, 10);
  FILE *file = fopen(words[3], "rb");
  if (!file || fseek(file, 0, SEEK_END))
    return fail("an input cannot be read");
  tensor.bytes = (uint64_t)ftell(file);
  rewind(file);
  tensor.data = aligned_alloc(MOPT_ALIGNMENT, (tensor.bytes / MOPT_ALIGNMENT + 1) * MOPT_ALIGNMENT);
  if (!tensor.data || fread(tensor.data, 1, tensor.bytes, file) != tensor.bytes)
    return fail("an input cannot be read");
  fclose(file);
  return mopt_session_set_input_by_name(session, words[0], &tensor, &error) ? fail(error.message) : 0;
}

static int writeOutput(const mopt_model *model, mopt_session *session, uint32_t index, const char *folder) {
  mopt_array tensor;
  mopt_tensor_info info;
  char path[4096];
  if (mopt_model_output(model, index, &info) || mopt_session_output(session, index, &tensor, &error))
    return fail(error.message);
  snprintf(path, sizeof path, "%s/%u.bin", folder, index);
  FILE *file = fopen(path, "wb");
  if (!file || fwrite(tensor.data, 1, tensor.bytes, file) != tensor.bytes || fclose(file))
    return fail("an output cannot be written");
  printf("%u %s %u ", index, info.name, tensor.dtype);
  for (uint32_t i = 0; i < tensor.rank; ++i)
    printf("%s%lld", i ? "x" : "", (long long)tensor.dims[i]);
  printf("\n");
  return 0;
}

int main(int argc, char **argv) {
  mopt_model *model;
  mopt_pool *pool;
  mopt_session *session;
  mopt_model_info info;
  if (argc < 5 || (argc - 5) % 4)
    return fail("usage: raw_run MODEL.so OUTPUT_FOLDER THREADS REPEATS [NAME DTYPE DIMS FILE]...");
  if (mopt_model_load(argv[1], &model, &error) || mopt_pool_create(atoi(argv[3]), &pool, &error))
    return fail(error.message);
  mopt_session_options options = {.size = sizeof options, .pool = pool};
  if (mopt_session_create(model, &options, &session, &error))
    return fail(error.message);
  for (int i = 5; i < argc; i += 4)
    if (readInput(session, argv + i))
      return 2;
  for (int i = 0; i < atoi(argv[4]); ++i)
    if (mopt_session_run(session, NULL, &error))
      return fail(error.message);
  mopt_model_get_info(model, &info);
  for (uint32_t i = 0; i < info.noutputs; ++i)
    if (writeOutput(model, session, i, argv[2]))
      return 2;
  return 0;
}
