// qtsaccel's side of a contest: the CPU with the contest's threads, errors as
// exceptions.
#pragma once

#include <qtsaccel.h>

#include <stdexcept>
#include <string>

#include "contest.hpp"

namespace bench {

inline void must(qtsa_status status) {
    if (status != QTSA_OK) {
        throw std::runtime_error(std::string(qtsa_status_name(status)) + ": " + qtsa_last_error());
    }
}

class QtsaCpu {
  public:
    QtsaCpu() {
        qtsa_backend_options options = qtsa_backend_options_init();
        options.backend = "cpu";
        options.threads = threads();
        must(qtsa_backend_create(&options, &backend_));
    }
    ~QtsaCpu() { qtsa_backend_free(backend_); }
    QtsaCpu(const QtsaCpu &) = delete;
    QtsaCpu &operator=(const QtsaCpu &) = delete;

    qtsa_backend get() const { return backend_; }

  private:
    qtsa_backend backend_ = nullptr;
};

}  // namespace bench
