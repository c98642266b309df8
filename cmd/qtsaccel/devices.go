package main

import (
	"io"

	"github.com/spf13/cobra"
)

func devices() *cobra.Command {
	var asJSON bool
	var p places
	c := &cobra.Command{
		Use:   "devices",
		Short: "List available devices, and why others are not",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			set, request := p.open()
			list, err := set.List(request)
			if err != nil {
				return err
			}
			if asJSON {
				return writeJSON(c.OutOrStdout(), list)
			}
			_, err = io.WriteString(c.OutOrStdout(), list.Text())
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	c.Flags().StringVar(&p.request.Probe, "probe", "", "whether GPUs are self-tested: `MODE` require, auto or off (default $QTSACCEL_PROBE, or auto)")
	p.register(c.Flags())
	return c
}
