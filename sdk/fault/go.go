package fault

// Go starts f on a goroutine of its own. A panic in f does not end the
// program: died is called with an ErrInternal that names it, on the same
// goroutine. Every goroutine of sdk starts here, because under wasm a panic
// nobody recovers takes the whole instance with it.
func Go(f func(), died func(error)) {
	go func() {
		defer func() {
			if p := recover(); p != nil {
				died(Recovered(p))
			}
		}()
		f()
	}()
}

// Recovered makes an ErrInternal of what recover returned.
func Recovered(p any) error {
	if err, ok := p.(error); ok {
		return New(ErrInternal, "gridhold", "", "panic: "+err.Error())
	}
	if s, ok := p.(string); ok {
		return New(ErrInternal, "gridhold", "", "panic: "+s)
	}
	return New(ErrInternal, "gridhold", "", "panic")
}
