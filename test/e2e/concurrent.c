/* Three models run from eight threads on one pool of two, four sessions of the first. Every answer must have the bits of
 * a serial run, and the weights of each model must be in memory once.
 *
 *   concurrent A.so B.so C.so        status 0 if all holds; build with -fsanitize=thread to look for races */
#include "mopt/Runtime/mopt.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 8, RUNS = 6, PORTS = 8 };
static mopt_model *models[3];
static mopt_pool *pool;
static const int modelOf[THREADS] = {0, 0, 0, 0, 1, 1, 2, 2};

typedef struct {
  int model, seed;
  mopt_pool *pool;
  mopt_array inputs[PORTS];
  mopt_session *session;
  char error[256];
} caller;

static int fails(caller *c, const char *what) {
  snprintf(c->error, sizeof c->error, "%s", what);
  return 1;
}

/* Sizes that the model leaves open are 2, or 64 for an image's height and width. Values follow from the seed. */
static int setUp(caller *c) {
  mopt_error error;
  mopt_tensor_info info;
  mopt_session_options options = {.size = sizeof options, .pool = c->pool};
  uint32_t state = (uint32_t)c->seed * 2654435761u + 1;
  if (mopt_session_create(models[c->model], &options, &c->session, &error))
    return fails(c, error.message);
  for (uint32_t i = 0; i < PORTS && mopt_model_input(models[c->model], i, &info) == MOPT_OK; ++i) {
    mopt_array *input = &c->inputs[i];
    uint64_t count = 1;
    input->dtype = info.dtype;
    input->rank = info.rank;
    for (uint32_t d = 0; d < info.rank; ++d)
      count *= (uint64_t)(input->dims[d] = info.dims[d] >= 0 ? info.dims[d] : info.rank == 4 && d ? 64 : 2);
    input->bytes = count * mopt_dtype_bits(info.dtype) / 8;
    input->data = aligned_alloc(MOPT_ALIGNMENT, (input->bytes / MOPT_ALIGNMENT + 1) * MOPT_ALIGNMENT);
    if (!input->data)
      return fails(c, "out of memory");
    memset(input->data, 0, input->bytes);
    for (uint64_t k = 0; k < count; ++k) {
      state = state * 1664525u + 1013904223u;
      if (info.dtype == MOPT_F32)
        ((float *)input->data)[k] = (float)(state >> 8) / (float)(1 << 24) - 0.5f;
      if (info.dtype == MOPT_I32)
        ((int32_t *)input->data)[k] = (int32_t)(state >> 24);
      if (info.dtype == MOPT_I64)
        ((int64_t *)input->data)[k] = (int64_t)(state >> 31);
    }
    if (mopt_session_set_input(c->session, i, input, &error))
      return fails(c, error.message);
  }
  return 0;
}

/* FNV-1a over all outputs. */
static int run(caller *c, uint64_t *hash) {
  mopt_error error;
  mopt_array output;
  if (mopt_session_run(c->session, NULL, &error))
    return fails(c, error.message);
  *hash = 1469598103934665603u;
  for (uint32_t i = 0; mopt_session_output(c->session, i, &output, &error) == MOPT_OK; ++i)
    for (uint64_t b = 0; b < output.bytes; ++b)
      *hash = (*hash ^ ((const uint8_t *)output.data)[b]) * 1099511628211u;
  return 0;
}

static void tearDown(caller *c) {
  mopt_session_free(c->session);
  for (int i = 0; i < PORTS; ++i)
    free(c->inputs[i].data);
}

static uint64_t expected[THREADS];

static void *work(void *arg) {
  caller *c = arg;
  uint64_t hash = 0;
  if (setUp(c))
    return c;
  for (int i = 0; i < RUNS; ++i)
    if (run(c, &hash) || (hash != expected[c->seed] && fails(c, "answer differs from the serial one")))
      return c;
  tearDown(c);
  return NULL;
}

/* Maps of the files of the models in this process: a second copy of weights would be a second map. */
static int mapsOf(const char *path) {
  char line[4352];
  int count = 0;
  FILE *maps = fopen("/proc/self/maps", "r");
  while (maps && fgets(line, sizeof line, maps))
    count += strstr(line, path) && strstr(line, "r--p") != NULL;
  if (maps)
    fclose(maps);
  return count;
}

int main(int argc, char **argv) {
  mopt_error error;
  pthread_t threads[THREADS];
  caller callers[THREADS] = {{0}};
  int bad = 0;
  if (argc != 4)
    return fprintf(stderr, "usage: concurrent A.so B.so C.so\n"), 2;
  for (int i = 0; i < 3; ++i)
    if (mopt_model_load(argv[i + 1], &models[i], &error))
      return fprintf(stderr, "error %s\n", error.message), 2;
  mopt_pool *serial;
  if (mopt_pool_create(1, &serial, &error) || mopt_pool_create(2, &pool, &error))
    return 2;
  for (int i = 0; i < THREADS; ++i) {
    caller c = {.model = modelOf[i], .seed = i, .pool = serial};
    if (setUp(&c) || run(&c, &expected[i]))
      return fprintf(stderr, "error %s\n", c.error), 2;
    tearDown(&c);
  }
  int before = mapsOf(argv[1]);
  for (int i = 0; i < THREADS; ++i) {
    callers[i] = (caller){.model = modelOf[i], .seed = i, .pool = pool};
    if (pthread_create(&threads[i], NULL, work, &callers[i]))
      return 1;
  }
  for (int i = 0; i < THREADS; ++i) {
    void *failed;
    pthread_join(threads[i], &failed);
    if (failed)
      fprintf(stderr, "thread %d: %s\n", i, callers[i].error), bad = 1;
  }
  if (mapsOf(argv[1]) != before)
    fprintf(stderr, "the weights of %s are mapped more than once\n", argv[1]), bad = 1;
  for (int i = 0; i < 3; ++i)
    mopt_model_free(models[i]);
  mopt_pool_free(serial);
  mopt_pool_free(pool);
  if (!bad)
    printf("%d threads, %d runs each: all answers as in a serial run\n", THREADS, RUNS);
  return bad;
}
