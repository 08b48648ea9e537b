package splits

import (
	"slices"
	"strings"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
)

// packer has small files share splits, which cost target bytes at most (CombineFileInputFormat).
// Files of one node share first; what is left over of each shares with that of the others. Those of
// two file systems never share.
type packer struct {
	target int64
	bins   []*bin // one for each file system and host, in the order of their first files
	index  map[[2]string]*bin
	done   []jobgraph.Split
}

// bin is what is being gathered for one split.
type bin struct {
	root  string // of the file system
	files []file
	cost  int64    // of files
	load  int64    // cost of all that the host was given
	hosts []string // that have all files
}

// add takes a file in, for the host of its own that has the least to read so far.
func (p *packer) add(f file) {
	root, hosts := rootOf(f.uri), f.runs(p.target)[0].Hosts
	var to *bin
	for _, host := range hosts {
		if b := p.bin(root, host); to == nil || b.load < to.load {
			to = b
		}
	}
	if to == nil {
		to = p.bin(root, "")
	}
	to.load += f.cost()
	p.put(to, []file{f}, hosts)
}

func (p *packer) bin(root, host string) *bin {
	key := [2]string{root, host}
	b, known := p.index[key]
	if !known {
		if p.index == nil {
			p.index = make(map[[2]string]*bin)
		}
		b = &bin{root: root}
		p.index[key] = b
		p.bins = append(p.bins, b)
	}
	return b
}

// put adds files that lie on hosts. What has no room for them is a split.
func (p *packer) put(b *bin, files []file, hosts []string) {
	cost := int64(0)
	for _, f := range files {
		cost += f.cost()
	}
	if b.cost+cost > p.target {
		p.close(b)
	}
	if len(b.files) == 0 {
		b.hosts = hosts
	} else {
		b.hosts = common(b.hosts, hosts)
	}
	b.files, b.cost = append(b.files, files...), b.cost+cost
}

// common gives the hosts that are among both. It changes neither.
func common(a, b []string) []string {
	if slices.Equal(a, b) {
		return a
	}
	var both []string
	for _, host := range a {
		if slices.Contains(b, host) {
			both = append(both, host)
		}
	}
	return both
}

// close makes a split of what a bin has.
func (p *packer) close(b *bin) {
	if len(b.files) == 0 {
		return
	}
	base := directoryOf(b.files[0].uri)
	for _, f := range b.files[1:] {
		for !strings.HasPrefix(f.uri, base) {
			base = directoryOf(base[:len(base)-1])
		}
	}
	split := jobgraph.Split{Base: base, Parts: make([]jobgraph.Part, 0, len(b.files)), Hosts: b.hosts}
	for _, f := range b.files {
		split.Parts = append(split.Parts, f.part(base, 0, f.size))
	}
	p.done = append(p.done, split)
	b.files, b.cost, b.hosts = b.files[:0], 0, nil
}

// finish gives all splits. What is half a split or more stays with its host.
func (p *packer) finish() []jobgraph.Split {
	rest := make(map[string]*bin)
	for _, b := range p.bins {
		switch {
		case len(b.files) == 0:
			continue // its hosts, of no file, say nothing
		case 2*b.cost >= p.target:
			p.close(b)
			continue
		case rest[b.root] == nil:
			rest[b.root] = &bin{root: b.root}
		}
		p.put(rest[b.root], b.files, b.hosts)
	}
	for _, b := range p.bins { // for their order
		if left := rest[b.root]; left != nil {
			p.close(left)
		}
	}
	return p.done
}

// rootOf is the scheme and authority of a URI, with the "/" after it.
func rootOf(uri string) string {
	root, _ := splitURI(uri)
	return root
}
