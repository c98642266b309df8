package probe

import (
	"strconv"
	"strings"

	"qtsaccel/backends/driver"
	"qtsaccel/backends/ggml/library"
	"qtsaccel/core/choice"
	"qtsaccel/core/status"
)

// VisibleVariable is the environment variable with the places of the devices that
// ggml's Vulkan plugin takes, in that order. Unset, it takes hardware only, and of
// two drivers for one card the better one.
const VisibleVariable = "GGML_VK_VISIBLE_DEVICES"

// Visible gives the devices that the plugin can be made to list, numbered anew: all
// or, where the host has set the variable, those that it names. naming is what the
// variable has to be for that.
func Visible(r *driver.Report, variable string) (devices []driver.Device, naming string, err error) {
	if r.API != "vulkan" {
		return r.Devices, "", nil
	}
	if strings.TrimSpace(variable) == "" {
		places := make([]string, len(r.Devices))
		for i, d := range r.Devices {
			places[i] = strconv.Itoa(d.Physical)
		}
		return r.Devices, strings.Join(places, ","), nil
	}
	for field := range strings.FieldsSeq(strings.ReplaceAll(variable, ",", " ")) {
		place, err := strconv.Atoi(field)
		found := false
		for _, d := range r.Devices {
			if err == nil && d.Physical == place {
				d.Index = len(devices)
				devices, found = append(devices, d), true
			}
		}
		if !found {
			return nil, "", status.Errorf(status.DeviceUnavailable, "%s is %q, the driver shows %d devices from 0 on",
				VisibleVariable, variable, len(r.Devices))
		}
	}
	return devices, variable, nil
}

// NeedsNaming says whether the plugin lists a device, and in its place, only if
// devices are named.
func (v *Verdict) NeedsNaming(index int) bool {
	if v.API != "vulkan" {
		return false
	}
	seen := map[string]bool{}
	for i := range v.Findings {
		f := &v.Findings[i]
		// Two drivers for one card: the plugin leaves one of them out.
		if f.UUID != "" && seen[f.UUID] {
			return true
		}
		seen[f.UUID] = true
		if f.Index == index && f.Kind == choice.Software {
			return true
		}
	}
	return false
}

// PluginIndex finds a device among those that the plugin lists, by name: the n-th
// of a name here is the n-th of that name there. It gives -1 where there is none.
func (v *Verdict) PluginIndex(listed []library.Device, index int) int {
	if index < 0 || index >= len(v.Findings) {
		return -1
	}
	name, nth := v.Findings[index].Name, 0
	for _, f := range v.Findings[:index] {
		if f.Name == name {
			nth++
		}
	}
	for i, l := range listed {
		if l.Description != name {
			continue
		}
		if nth == 0 {
			return i
		}
		nth--
	}
	return -1
}
