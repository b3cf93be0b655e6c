/* Three models run from eight threads on one pool. Each thread has a session of its own; sessions of one model share its
 * weights, and all share the pool, so eight callers do not mean eight times the threads.
 * cc three_models.c -I include -L build/release/lib/Runtime -lmopt_rt -lpthread && ./a.out a.so b.so c.so */
#include "mopt/Runtime/mopt.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define TRY(call)                                                                                                           \
  if ((call) != MOPT_OK)                                                                                                    \
  return fprintf(stderr, "error %s\n", error.message), (void *)1

static mopt_model *models[3];
static mopt_pool *pool;

static void *work(void *arg) {
  mopt_model *model = models[(size_t)arg % 3];
  mopt_error error;
  mopt_session *session;
  mopt_session_options options = {.size = sizeof options, .pool = pool};
  TRY(mopt_session_create(model, &options, &session, &error));
  void *data[16] = {0};
  mopt_tensor_info info;
  for (uint32_t i = 0; i < 16 && mopt_model_input(model, i, &info) == MOPT_OK; ++i) {
    mopt_array input = {.dtype = info.dtype, .rank = info.rank, .bytes = mopt_dtype_bits(info.dtype) / 8};
    for (uint32_t d = 0; d < info.rank; ++d)
      input.bytes *= (uint64_t)(input.dims[d] = info.dims[d] < 0 ? 1 : info.dims[d]);
    input.data = data[i] = calloc(1, input.bytes + 1);
    TRY(mopt_session_set_input(session, i, &input, &error));
  }
  for (int run = 0; run < 100; ++run)
    TRY(mopt_session_run(session, NULL, &error));
  mopt_array output;
  TRY(mopt_session_output(session, 0, &output, &error));
  printf("thread %d: %llu bytes of output\n", (int)(size_t)arg, (unsigned long long)output.bytes);
  mopt_session_free(session);
  for (int i = 0; i < 16; ++i)
    free(data[i]);
  return NULL;
}

int main(int argc, char **argv) {
  mopt_error error;
  pthread_t threads[8];
  void *failed, *any = NULL;
  if (argc != 4)
    return fprintf(stderr, "usage: %s a.so b.so c.so\n", argv[0]), 2;
  for (int i = 0; i < 3; ++i)
    if (mopt_model_load(argv[i + 1], &models[i], &error) || (!pool && mopt_pool_create(2, &pool, &error)))
      return fprintf(stderr, "error %s\n", error.message), 2;
  for (size_t i = 0; i < 8; ++i)
    if (pthread_create(&threads[i], NULL, work, (void *)i) != 0)
      return fprintf(stderr, "no more threads\n"), 1;
  for (int i = 0; i < 8; ++i)
    pthread_join(threads[i], &failed), any = failed ? failed : any;
  for (int i = 0; i < 3; ++i)
    mopt_model_free(models[i]);
  mopt_pool_free(pool);
  return any ? 2 : 0;
}
