module qtsaccel

go 1.26

require github.com/stretchr/testify v1.12.1

require (
	github.com/ebitengine/purego v0.11.3 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)

ignore ./dist
