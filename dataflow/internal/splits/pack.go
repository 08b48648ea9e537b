package splits

import (
	"slices"
	"strings"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
)

// packer puts small files together into splits of at most target bytes, like Hadoop's
// CombineFileInputFormat. Files of one node share splits first. The remaining files of all nodes
// then share splits. Files of different file systems never share a split.
type packer struct {
	target int64
	bins   []*bin // one for each file system and host, in the order of their first files
	index  map[[2]string]*bin
	done   []jobgraph.Split
}

// bin gathers the files of one split.
type bin struct {
	root  string // of the file system
	files []file
	cost  int64    // of files
	load  int64    // cost of all files added for the host so far, also in earlier splits
	hosts []string // the hosts that have all files
}

// add adds a file to a bin. Of the hosts that have the file, it chooses the one with the least load.
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

// put adds files to a bin. hosts are the hosts that have all these files. If the bin has no room, put first
// makes a split of the files in the bin.
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

// common returns the hosts that are in both lists. It changes neither list.
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

// close makes a split of a bin's files.
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

// finish returns all splits. A bin that is at least half full becomes a split of its host.
func (p *packer) finish() []jobgraph.Split {
	rest := make(map[string]*bin)
	for _, b := range p.bins {
		switch {
		case len(b.files) == 0:
			continue // put would narrow the hosts of rest to the bin's
		case 2*b.cost >= p.target:
			p.close(b)
			continue
		case rest[b.root] == nil:
			rest[b.root] = &bin{root: b.root}
		}
		p.put(rest[b.root], b.files, b.hosts)
	}
	for _, b := range p.bins { // in the order of the bins, not of the map
		if left := rest[b.root]; left != nil {
			p.close(left)
		}
	}
	return p.done
}

// rootOf returns the scheme and authority of a URI, with the "/" after them.
func rootOf(uri string) string {
	root, _ := splitURI(uri)
	return root
}
