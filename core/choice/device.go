package choice

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"qtsaccel/core/abi"
	"qtsaccel/core/status"
)

// Device is one device as one API sees it.
type Device struct {
	API           string `json:"api"`   // "cpu", "cuda", "vulkan", "metal", "reference"
	Index         int    `json:"index"` // among the API's devices
	Name          string `json:"name"`
	Kind          Kind   `json:"kind"`
	DriverVersion string `json:"driver_version,omitempty"`
	PCI           string `json:"pci,omitempty"`  // "0000:65:00.0", "" where it has none
	UUID          string `json:"uuid,omitempty"` // 32 hex digits, "" where it has none
	MemoryTotal   uint64 `json:"memory_total"`   // bytes
	MemoryFree    uint64 `json:"memory_free"`    // bytes, when it was asked; 0 where nobody knows
	// Problem says why the device cannot be used, "" where nothing is known against it.
	Problem string `json:"problem,omitempty"`
}

// Kind is what a device is; the values are the header's QTSA_DEVICE_*.
type Kind int32

// The kinds.
const (
	CPU        Kind = abi.DeviceCPU
	Discrete   Kind = abi.DeviceDiscrete   // a GPU with its own memory
	Integrated Kind = abi.DeviceIntegrated // a GPU in the host's memory
	Software   Kind = abi.DeviceSoftware   // a GPU's API computed by the CPU, such as Mesa's llvmpipe
)

func (k Kind) String() string {
	switch k {
	case CPU:
		return "cpu"
	case Discrete:
		return "discrete"
	case Integrated:
		return "integrated"
	case Software:
		return "software"
	}
	return "unknown"
}

// MarshalText writes the kind's name into JSON.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads it back.
func (k *Kind) UnmarshalText(text []byte) error {
	for _, known := range []Kind{CPU, Discrete, Integrated, Software} {
		if known.String() == string(text) {
			*k = known
			return nil
		}
	}
	return status.Errorf(status.InvalidArgument, "unknown kind of device %q", text)
}

// String names the device as reports do: "vulkan:1".
func (d Device) String() string { return d.API + ":" + strconv.Itoa(d.Index) }

// selector is how a host names a device.
type selector struct {
	text  string
	from  string // who named it
	api   string // "" where the text names none
	index int    // -1 where it is named by id
	pci   string
	uuid  string
}

var (
	pciPattern  = regexp.MustCompile(`^(?:([0-9a-f]{4,8}):)?([0-9a-f]{2}):([0-9a-f]{2})\.([0-7])$`)
	uuidPattern = regexp.MustCompile(`^(?:gpu-)?([0-9a-f]{8})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{12})$`)
)

// parseSelector reads an index ("1"), an API's index ("vulkan:1"), a PCI id
// ("0000:65:00.0" or "65:00.0") or a UUID (with or without "GPU-" and dashes).
func parseSelector(text, source string) (*selector, error) {
	s := &selector{text: text, from: source, index: -1}
	t := strings.ToLower(text)
	if m := pciPattern.FindStringSubmatch(t); m != nil {
		s.pci = canonicalPCI(t)
		return s, nil
	}
	if m := uuidPattern.FindStringSubmatch(t); m != nil {
		s.uuid = strings.Join(m[1:], "")
		return s, nil
	}
	number := t
	if api, n, ok := strings.Cut(t, ":"); ok && isGPU(api) {
		s.api, number = api, n
	}
	index, err := strconv.ParseInt(number, 10, 32)
	if err != nil || index < 0 {
		return nil, status.Errorf(status.InvalidArgument,
			"device %q (from %s) is none: want an index from 0 such as 1 or vulkan:1, a PCI id such as 0000:65:00.0, or a UUID", text, source)
	}
	s.index = int(index)
	return s, nil
}

// canonicalPCI writes a PCI id with its domain in four digits, as Linux does.
// CUDA writes eight.
func canonicalPCI(id string) string {
	m := pciPattern.FindStringSubmatch(strings.ToLower(id))
	if m == nil {
		return ""
	}
	domain, err := strconv.ParseUint("0"+m[1], 16, 32)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%04x:%s:%s.%s", domain, m[2], m[3], m[4])
}

// canonicalUUID writes a UUID as 32 hex digits, "" if it is none.
func canonicalUUID(id string) string {
	m := uuidPattern.FindStringSubmatch(strings.ToLower(id))
	if m == nil {
		return ""
	}
	return strings.Join(m[1:], "")
}

// pick finds which of an API's devices is meant. Without a selector it is the
// first that is no software. A software device is taken where the API was asked for by
// name (byName), or where the selector cannot mean another: an index alone means
// whatever API auto takes. An index that the API does not have is INVALID_ARGUMENT,
// whoever asks; another device not found is DEVICE_UNAVAILABLE.
func pick(api string, devices []Device, s *selector, byName bool) (Device, error) {
	if s == nil {
		for _, d := range devices {
			if d.Kind != Software {
				return d, nil
			}
		}
		if byName && len(devices) > 0 {
			return devices[0], nil
		}
		if len(devices) > 0 {
			return Device{}, status.Errorf(status.DeviceUnavailable,
				"only a software device (%s), which is taken only if %s is asked for by name", devices[0].Name, api)
		}
		return Device{}, status.Errorf(status.DeviceUnavailable, "no device")
	}
	if s.api != "" && s.api != api {
		return Device{}, status.Errorf(status.DeviceUnavailable, "device %q is not of this API, which has %s", s.text, describe(devices))
	}
	for _, d := range devices {
		if !s.means(d) {
			continue
		}
		if d.Kind == Software && !byName && s.index >= 0 && s.api == "" {
			return Device{}, status.Errorf(status.DeviceUnavailable,
				"its device %d (%s) is software, which an index alone does not choose: ask for backend %q, or for device %q",
				d.Index, d.Name, api, d.String())
		}
		return d, nil
	}
	if s.index >= 0 {
		return Device{}, status.Errorf(status.InvalidArgument, "device index %d is asked for (from %s), %s has %s",
			s.index, s.from, api, countDevices(len(devices)))
	}
	return Device{}, status.Errorf(status.DeviceUnavailable, "no device %q among %s", s.text, describe(devices))
}

// means says whether the selector names a device of its API.
func (s *selector) means(d Device) bool {
	return s.index >= 0 && d.Index == s.index ||
		s.pci != "" && canonicalPCI(d.PCI) == s.pci ||
		s.uuid != "" && canonicalUUID(d.UUID) == s.uuid
}

// describe lists devices with all that they can be named by.
func describe(devices []Device) string {
	list := make([]string, len(devices))
	for i, d := range devices {
		list[i] = fmt.Sprintf("%v (%s", d, d.Name)
		for _, id := range []string{d.PCI, d.UUID} {
			if id != "" {
				list[i] += ", " + id
			}
		}
		list[i] += ")"
	}
	if len(list) == 0 {
		return countDevices(0)
	}
	return strings.Join(list, ", ")
}

func countDevices(n int) string {
	switch n {
	case 0:
		return "no devices"
	case 1:
		return "1 device (index 0)"
	}
	return fmt.Sprintf("%d devices (index 0 to %d)", n, n-1)
}

// Card is one piece of hardware with every API that it is seen through.
type Card struct {
	Device          // as the first of its APIs in the order of preference sees it
	Also   []Device `json:"also,omitempty"`
}

// Cards puts together the devices that are one and the same: by UUID or PCI id.
// The devices come in the order of preference.
func Cards(devices []Device) []Card {
	var cards []Card
next:
	for _, d := range devices {
		for i := range cards {
			if cards[i].API != d.API && sameCard(cards[i].Device, d) {
				cards[i].Also = append(cards[i].Also, d)
				if cards[i].MemoryFree == 0 {
					cards[i].MemoryFree = d.MemoryFree
				}
				continue next
			}
		}
		cards = append(cards, Card{Device: d})
	}
	return cards
}

func sameCard(a, b Device) bool {
	// Parts of one card (MIG) share its PCI id, so a UUID that both have decides.
	if u, v := canonicalUUID(a.UUID), canonicalUUID(b.UUID); u != "" && v != "" {
		return u == v
	}
	p := canonicalPCI(a.PCI)
	return p != "" && p == canonicalPCI(b.PCI)
}
