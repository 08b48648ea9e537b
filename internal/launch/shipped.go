package launch

import (
	"fmt"

	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// Shipped is a user's file that all containers of an application find in their working directory.
type Shipped struct {
	Link     string // path in the working directory
	Resource Resource
	Archive  bool // YARN unpacks it: Link is a directory
}

// Localize adds shipped files to the resources of a container.
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
