module source

go 1.22
