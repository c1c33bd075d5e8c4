package service

import "sync"

// A response that is final need not be made again. The two caches save the work of
// the store and the encoding. That is a twelfth of the processor time of a list from
// memory, and more than half of a list from a file (make bench-scale).

// cacheBytes bounds each cache, roughly: some 5,000 pets, and some 400 pages of 20.
const cacheBytes = 1 << 20

// maxPage is the greatest page that is remembered, in bytes: larger ones are rare, and
// are encoded only once they have room in the budget of responses.
const maxPage = 64 << 10

// entryCost is about the memory that an entry takes beside its body, in bytes.
const entryCost = 128

// cache keeps the values used last, at most cacheBytes of them. It has two
// generations. A value that is used moves to the young generation. When the young
// generation has half of cacheBytes, the old generation is dropped and the young one
// becomes the old.
type cache[K comparable, V any] struct {
	mu         sync.Mutex
	young, old map[K]costed[V]
	youngCost  int
}

type costed[V any] struct {
	value V
	cost  int
}

func (c *cache[K, V]) get(key K) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, ok := c.young[key]
	if !ok {
		if v, ok = c.old[key]; ok {
			c.add(key, v)
		}
	}
	return v.value, ok
}

func (c *cache[K, V]) put(key K, value V, cost int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(key, costed[V]{value, cost})
}

func (c *cache[K, V]) add(key K, v costed[V]) {
	if v.cost > cacheBytes/2 {
		return
	}
	if c.youngCost+v.cost > cacheBytes/2 || c.young == nil {
		c.old, c.young, c.youngCost = c.young, map[K]costed[V]{}, 0
	}
	if _, known := c.young[key]; !known {
		c.youngCost += v.cost
	}
	c.young[key] = v
}
