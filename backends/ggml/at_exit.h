/*
 * What becomes of runs when the process ends: exit() destroys what ggml's plugins have at
 * namespace scope while other threads may still compute with it.
 */
#ifndef SHIM_AT_EXIT_H
#define SHIM_AT_EXIT_H

namespace shim {

/* Whether the process is ending: a run then stops before its next operator. */
bool exiting();

/* A run on the CPU as long as it lives. The first one registers a handler with atexit(),
 * after ggml's own are there and so to be called before them, which has the runs stop and
 * waits for them. */
class computing {
  public:
    computing();
    ~computing();
    computing(const computing &) = delete;
    computing &operator=(const computing &) = delete;
};

}  // namespace shim

#endif
