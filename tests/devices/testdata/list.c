/*
 * Lists the devices, in every way and with every mistake, and prints the JSON.
 *
 * usage: list PLUGIN-DIR
 */
#include "../../c/programs/model.h"

int main(int argc, char **argv) {
    static char text[1 << 16], json[1 << 16];
    qtsa_backend_options o;
    static qtsa_device devices[64];
    qtsa_device d;
    size_t count = 7, again, n, i;
    int processors = 0;
    CHECK(argc == 2);

    REFUSED(QTSA_ERR_INVALID_ARGUMENT, qtsa_devices_list(NULL, NULL, 0, NULL), "out_count is null");

    o = qtsa_backend_options_init();
    o.plugin_dir = argv[1];
    o.probe = "perhaps";
    REFUSED(QTSA_ERR_INVALID_ARGUMENT, qtsa_devices_list(&o, NULL, 0, &count), "\"perhaps\"", "require, auto, off");
    CHECK(count == 0);
    o.probe = " Require ";
    OK(qtsa_devices_list(&o, NULL, 0, &count));
    CHECK(count >= 1 && count < 64);
    memset(devices, 0xff, sizeof devices);
    devices[0].struct_size = sizeof d;
    OK(qtsa_devices_list(&o, devices, 64, &again));
    CHECK(again == count);
    CHECK(devices[0].struct_size == sizeof d && devices[count].kind == -1);

    for (i = 0; i < count; i++) {
        d = devices[i];
        CHECK(d.kind >= QTSA_DEVICE_CPU && d.kind <= QTSA_DEVICE_SOFTWARE);
        CHECK(d.name[0] != 0 && strlen(d.name) < sizeof d.name);
        CHECK(d.apis[0] != 0 && strlen(d.problem) < sizeof d.problem);
        CHECK(d.usable == 1 || d.problem[0] != 0);
        CHECK(d.memory_total > 0 && d.memory_free <= d.memory_total);
        if (d.kind == QTSA_DEVICE_CPU) {
            processors++;
            CHECK(strcmp(d.apis, "cpu:0") == 0);
            CHECK(d.pci[0] == 0 && d.uuid[0] == 0);
        }
    }
    CHECK(processors == 1);
    again = 0;
    REFUSED(QTSA_ERR_INVALID_ARGUMENT, qtsa_devices_list(&o, devices, count - 1, &again), count > 1 ? "room" : "null");
    CHECK(again == count);
    REFUSED(QTSA_ERR_INVALID_ARGUMENT, qtsa_devices_list(&o, NULL, 5, &again), "devices is null", "5");
    devices[0].struct_size = 8;
    REFUSED(QTSA_ERR_INVALID_ARGUMENT, qtsa_devices_list(&o, devices, 64, &again), "struct_size is 8");
    devices[0].struct_size = sizeof d + 8;
    REFUSED(QTSA_ERR_VERSION_MISMATCH, qtsa_devices_list(&o, devices, 64, &again), "newer");
    OK(qtsa_devices_report_copy(&o, QTSA_FORMAT_TEXT, text, sizeof text, &n));
    CHECK(n == strlen(text) + 1);
    CHECK(strstr(text, "DEVICE") != NULL && strstr(text, "cpu:0") != NULL);
    REFUSED(QTSA_ERR_INVALID_ARGUMENT, qtsa_devices_report_copy(&o, 2, text, sizeof text, &n), "format is 2");
    REFUSED(QTSA_ERR_INVALID_ARGUMENT, qtsa_devices_report_copy(&o, QTSA_FORMAT_TEXT, text, 3, &n), "3 bytes");
    OK(qtsa_devices_report_copy(&o, QTSA_FORMAT_JSON, json, sizeof json, &n));
    printf("%s\n", json);
    return 0;
}
