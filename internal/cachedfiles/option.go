package cachedfiles

import (
	"fmt"
	"strings"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/config"
)

// Read reads pipeline.cached-files. Of each file it sets the name, the place as the user wrote it
// (URI), and whether it is executable. The error wraps config.ErrInvalid.
func Read(c config.Config) ([]jobgraph.CachedFile, error) {
	return Parse(c.String(config.PipelineCachedFiles))
}

// Parse reads the text of the option, as DistributedCache.parseCachedFilesFromString does: entries
// separated by semicolons, each of pairs key:value separated by commas. Quotes, ' or ", keep these
// characters in a value; a doubled quote stands for itself there. Unlike Flink, a value without
// quotes may contain colons, as a URI does.
func Parse(text string) ([]jobgraph.CachedFile, error) {
	var files []jobgraph.CachedFile
	names := make(map[string]bool)
	entries, err := split(text, ';')
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		f, err := parseEntry(entry)
		if err != nil {
			return nil, err
		}
		if names[f.Name] {
			return nil, fault(entry, fmt.Sprintf("two files are named %q", f.Name))
		}
		names[f.Name] = true
		files = append(files, f)
	}
	if len(files) > jobgraph.MaxFiles {
		return nil, fault(fmt.Sprintf("%d files", len(files)), fmt.Sprintf("a job has at most %d: pack several files into one", jobgraph.MaxFiles))
	}
	return files, nil
}

// Remote reads the option in the configuration of a job that a program in the cluster has planned. A
// file of a machine's own disk is refused with ErrNotFound: the cluster does not have it.
func Remote(options map[string]string) ([]jobgraph.CachedFile, error) {
	files, err := Parse(options[config.PipelineCachedFiles.Name()])
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		if _, local := Local(f); local {
			return nil, Refuse(f.Name, f.URI, "the program runs in the cluster, which does not have this file: put it on HDFS, and write hdfs:///…")
		}
	}
	return files, nil
}

func parseEntry(entry string) (f jobgraph.CachedFile, err error) {
	pairs, err := split(entry, ',')
	if err != nil {
		return f, err
	}
	seen := make(map[string]bool)
	for _, pair := range pairs {
		key, value, found := strings.Cut(pair, ":")
		key, value = strings.TrimSpace(key), unquote(strings.TrimSpace(value))
		if !found || seen[key] {
			return f, fault(entry, "want name:NAME,path:PATH or name:NAME,path:PATH,executable:true")
		}
		seen[key] = true
		switch key {
		case "name":
			f.Name = value
		case "path":
			f.URI = value
		case "executable":
			f.Executable = strings.EqualFold(value, "true")
			if !f.Executable && !strings.EqualFold(value, "false") {
				return f, fault(entry, "executable must be true or false")
			}
		default:
			return f, fault(entry, fmt.Sprintf("%q is not name, path or executable", key))
		}
	}
	if f.Name == "" || f.URI == "" {
		return f, fault(entry, "it needs a name and a path: name:NAME,path:PATH")
	}
	return f, nil
}

func fault(what, remedy string) error {
	return &config.Fault{What: fmt.Sprintf("option %s: %s", config.PipelineCachedFiles.Name(), what), Remedy: remedy}
}

// split splits a text at a separator outside of quotes, and leaves out empty parts.
func split(text string, separator rune) ([]string, error) {
	var parts []string
	begin, quote := 0, rune(0)
	add := func(end int) {
		if part := strings.TrimSpace(text[begin:end]); part != "" {
			parts = append(parts, part)
		}
	}
	for i, c := range text {
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == separator:
			add(i)
			begin = i + 1
		}
	}
	if quote != 0 {
		return nil, fault(text, fmt.Sprintf("a quote %c is not closed", quote))
	}
	add(len(text))
	return parts, nil
}

// unquote removes the quotes around a value.
func unquote(value string) string {
	if len(value) < 2 || value[0] != value[len(value)-1] || value[0] != '\'' && value[0] != '"' {
		return value
	}
	quote := value[:1]
	return strings.ReplaceAll(value[1:len(value)-1], quote+quote, quote)
}
