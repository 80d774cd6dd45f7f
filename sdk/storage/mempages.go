package storage

// pageSize is the bytes of a page.
const pageSize = 256 << 10

// pages is the bytes of a file in memory, pageSize to a page. What lies past
// the end of a page that is shorter, or not there, is zero. A file that grows
// leaves what it has where it is; only its first page is moved, so that small
// files take little.
type pages struct {
	size int64
	all  [][]byte
}

// resize makes the file as long as size; what is new is zero.
func (p *pages) resize(size int64) {
	n := int((size + pageSize - 1) / pageSize)
	if size < p.size {
		clear(p.all[n:])
		p.all = p.all[:n]
		if last := int(size % pageSize); last > 0 && len(p.all[n-1]) > last {
			p.all[n-1] = p.all[n-1][:last]
		}
	}
	for len(p.all) < n {
		p.all = append(p.all, nil)
	}
	p.size = size
}

// read fills b from off on, as far as the file goes.
func (p *pages) read(b []byte, off int64) int {
	b = b[:max(0, min(int64(len(b)), p.size-off))]
	for done := 0; done < len(b); {
		page, at := p.all[off/pageSize], int(off%pageSize)
		piece := b[done:min(len(b), done+pageSize-at)]
		clear(piece[copy(piece, page[min(at, len(page)):]):])
		done, off = done+len(piece), off+int64(len(piece))
	}
	return len(b)
}

// write writes b at off; the file is long enough.
func (p *pages) write(b []byte, off int64) {
	for len(b) > 0 {
		i, at := int(off/pageSize), int(off%pageSize)
		n := min(len(b), pageSize-at)
		if p.all[i] == nil && n == pageSize { // which is not cleared first
			p.all[i] = append([]byte(nil), b[:n]...)
		} else {
			copy(p.reach(i, at, at+n), b)
		}
		b, off = b[n:], off+int64(n)
	}
}

// reach is bytes at..to of page i, which it makes longer if need be.
func (p *pages) reach(i, at, to int) []byte {
	page := p.all[i]
	if to > len(page) {
		if to > cap(page) {
			room := pageSize
			if i == 0 {
				room = min(max(2*len(page), to), pageSize)
			}
			page = append(make([]byte, 0, room), page...)
		}
		old := len(page)
		page = page[:to]
		clear(page[old:max(at, old)])
		p.all[i] = page
	}
	return page[at:to]
}

// zero sets bytes off..off+n to zero, as far as the file goes.
func (p *pages) zero(off, n int64) {
	for end := min(off+n, p.size); off < end; {
		i, at := int(off/pageSize), int(off%pageSize)
		to := int(min(end-off+int64(at), pageSize))
		switch page := p.all[i]; {
		case at == 0 && to >= len(page):
			p.all[i] = nil
		case at < len(page):
			clear(page[at:min(to, len(page))])
		}
		off += int64(to - at)
	}
}
