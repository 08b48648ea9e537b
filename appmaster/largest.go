package appmaster

import (
	"sync/atomic"

	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// largest is YARN's largest container. The provider of workers learns it, and submissions are compared with it.
// The zero value: it is not known.
type largest struct {
	resource atomic.Pointer[records.Resource]
}

func (l *largest) set(r records.Resource) { l.resource.Store(&r) }

func (l *largest) get() records.Resource {
	if r := l.resource.Load(); r != nil {
		return *r
	}
	return records.Resource{}
}
