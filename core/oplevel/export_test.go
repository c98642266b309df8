package oplevel

// Threshold gives the threshold in force for an operator's class.
func (c *Calls) Threshold(op string) (Threshold, error) {
	class, err := classOf(op)
	if err != nil {
		return Threshold{}, err
	}
	return c.thresholds().of[class], nil
}

// SetThreshold sets one and leaves the others as they are.
func (c *Calls) SetThreshold(op string, t Threshold) error {
	return c.Calibrate(CalibrateKeep, OpThreshold{op, t})
}
