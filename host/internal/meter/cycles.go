package meter

// findCycles orders the functions by who calls whom, and marks those that may
// call themselves: those in a cycle of the graph of calls, in which calls
// through tables may go to every function that a table may hold. It is
// Tarjan's algorithm, on a stack of its own.
func (m *module) findCycles() error {
	table := len(m.code) // a node that stands for all tables
	next := make([][]int32, len(m.code)+1)
	itself := make([]bool, len(m.code)+1)
	add := func(from int, to uint32) {
		if i := int(to) - m.importedFuncs; i >= 0 && i < table {
			next[from] = append(next[from], int32(i))
			itself[from] = itself[from] || i == from
		}
	}
	for i := range m.code {
		for _, c := range m.code[i].calls {
			add(i, c.to)
		}
		if m.code[i].indirect {
			next[i] = append(next[i], int32(table))
		}
	}
	for _, f := range m.taken {
		add(table, f)
	}

	type visit struct {
		node int
		edge int
	}
	number := make([]int, len(next)) // in which order nodes were met, from 1
	low := make([]int, len(next))
	on := make([]bool, len(next))
	var stack []int
	count := 0
	for root := range next {
		if number[root] != 0 {
			continue
		}
		path := []visit{{node: root}}
		for len(path) > 0 {
			v := &path[len(path)-1]
			n := v.node
			if v.edge == 0 && number[n] == 0 {
				count++
				number[n], low[n], on[n] = count, count, true
				stack = append(stack, n)
			}
			if v.edge < len(next[n]) {
				to := int(next[n][v.edge])
				v.edge++
				switch {
				case number[to] == 0:
					path = append(path, visit{node: to})
				case on[to]:
					low[n] = min(low[n], number[to])
				}
				continue
			}
			path = path[:len(path)-1]
			if len(path) > 0 {
				parent := path[len(path)-1].node
				low[parent] = min(low[parent], low[n])
			}
			if low[n] != number[n] {
				continue
			}
			for alone := stack[len(stack)-1] == n; ; {
				member := stack[len(stack)-1]
				stack = stack[:len(stack)-1]
				on[member] = false
				if member < table {
					m.code[member].cyclic = !alone || itself[member]
					m.order = append(m.order, member)
				}
				if member == n {
					break
				}
			}
		}
	}
	return nil
}
