package cluster

import (
	"testing"
)

// The test would catch a NameNode that counts as ready although it cannot place a block yet, and a wait for a NameNode
// whose DataNode has been killed.
func TestANameNodeIsReadyWhenItKnowsTheDisks(t *testing.T) {
	dir := t.TempDir()
	c := &Cluster{spec: &spec{Dir: dir, Daemons: []daemon{{Name: "datanode1", Kind: dataNode}, {Name: "datanode2", Kind: dataNode}, {Name: otherDataNode, Kind: dataNode}}}}
	if err := c.spec.write(); err != nil {
		t.Fatal(err)
	}
	process, err := startBegun(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = process.Process.Kill()
		_ = process.Wait()
	}()
	for _, runs := range []daemon{c.spec.Daemons[0], c.spec.Daemons[2]} {
		if err := c.spec.notePid(runs, process.Process.Pid); err != nil {
			t.Fatal(err)
		}
	}
	for live, ready := range map[string]bool{
		`{}`:                       false, // it has not registered
		`{"a:1": {"capacity": 0}}`: false, // its disks are not reported
		`{"a:1": {"capacity": 1}}`: true,
		`{"a:1": {"used": 3}, "b:1": {"capacity": 7, "used": 1}}`: true,
	} {
		if err := c.hasRoom(daemon{Name: "namenode"}, live); (err == nil) != ready {
			t.Errorf("with the nodes %s: %v, want ready: %t", live, err, ready)
		}
	}
}
