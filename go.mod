module github.com/gridhold/gridhold

go 1.26
