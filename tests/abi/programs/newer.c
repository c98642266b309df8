/*
 * A program that was compiled against a newer header than the library's: it asks for
 * that version, or for what came with it, and is told.
 */
#include "../../c/programs/model.h"

int main(void) {
    model m;
    qtsa_plan_options options;
    qtsa_plan plan = (qtsa_plan)(uintptr_t)7;
    char wanted[32];
    snprintf(wanted, sizeof wanted, "%d.%d.%d", QTSA_VERSION_MAJOR, QTSA_VERSION_MINOR, QTSA_VERSION_PATCH);
    CHECK(qtsa_version() < QTSA_VERSION);
    REFUSED(QTSA_ERR_VERSION_MISMATCH, qtsa_version_require(QTSA_VERSION), wanted);
    OK(qtsa_version_require(qtsa_version()));

    REFUSED(QTSA_ERR_VERSION_MISMATCH, qtsa_plan_options_init(&options, sizeof options), "24", "16", "newer");
    memset(&options, 0, sizeof options);
    options.struct_size = sizeof options;
    model_open(&m);
    REFUSED(QTSA_ERR_VERSION_MISMATCH, qtsa_plan_create(m.session, m.graph, &options, &plan), "24", "16", "newer");
    CHECK(plan == NULL);
    MODEL_RUNS(m.plan); /* and what the library has goes on working */
    model_free(&m);
    printf("ok\n");
    return 0;
}
