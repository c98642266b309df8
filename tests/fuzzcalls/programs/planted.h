/* Mistakes that a library could make, planted to see that the fuzzer finds each. */
#ifndef FUZZCALLS_PLANTED_H
#define FUZZCALLS_PLANTED_H

#include <unistd.h>

#include "thread.h"

inline qtsa_status gives_no_status(size_t *) { return 7; }
inline qtsa_status keeps_out(size_t *) { return QTSA_ERR_IO; }
inline qtsa_status writes_before(char *p) {
    p[-1] = 1;
    return QTSA_OK;
}
inline qtsa_status writes_behind(char *p) {
    p[24] = 1;
    return QTSA_OK;
}
inline qtsa_status waits(size_t *) {
    while (true) pause();
}

/* In one step of many, so that there is something to be left out. */
inline void planted(Thread &t, const std::string &bug) {
    if (bug.empty() || t.step < 40) return;
    if (bug == "status") t.call(F_qtsa_weights_count, gives_no_status, t.out<size_t>(0));
    if (bug == "out-kept") t.call(F_qtsa_weights_count, keeps_out, t.out<size_t>(0));
    if (bug == "hang") t.call(F_qtsa_weights_count, waits, t.out<size_t>(0));
    if (bug == "value") t.right(false, "1 + 1");
    char *p = t.memory<char>(24);
    const bool at_start = reinterpret_cast<uintptr_t>(p) % 4096 < 8;
    if (bug == "beside" && !at_start) t.call(F_qtsa_weights_set, writes_before, p);
    if (bug == "behind" && !at_start) t.call(F_qtsa_weights_set, writes_behind, p);
    if (bug == "leak") {
        qtsa_graph leaked;
        t.call(F_qtsa_graph_create, qtsa_graph_create, static_cast<const char *>(nullptr), Out<qtsa_graph>{&leaked});
    }
}

#endif
