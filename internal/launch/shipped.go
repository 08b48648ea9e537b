package launch

import (
	"fmt"

	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// Shipped is a file that all containers of an application find beside ours.
type Shipped struct {
	Link     string // in the working directory; may lead into directories
	Resource Resource
	Archive  bool // unpacked: Link is a directory
}

// Localize adds shipped files to what a container localizes.
func Localize(into map[string]records.LocalResource, shipped []Shipped) error {
	for _, s := range shipped {
		resource, err := s.Resource.Localize()
		if err != nil {
			return fmt.Errorf("localize %s: %w", s.Link, err)
		}
		if s.Archive {
			resource.Type = records.LocalArchive
		}
		into[s.Link] = resource
	}
	return nil
}
