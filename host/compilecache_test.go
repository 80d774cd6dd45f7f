package host_test

func child() int { return 0 }
