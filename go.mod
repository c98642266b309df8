module qtsaccel

go 1.26
