package cluster

import (
	"bytes"
	"encoding/xml"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// siteFiles is the content of one configuration folder.
type siteFiles struct {
	core, hdfs, yarn map[string]string
	scheduler        map[string]string // nil for clients
}

// write writes the folder, and reports whether it was different before. It does not touch unchanged files. logLevel is
// the lowest level that the program writes to standard error.
func (f siteFiles) write(dir, logLevel string) (changed bool, err error) {
	files := map[string][]byte{"log4j.properties": log4j(logLevel)}
	for name, properties := range map[string]map[string]string{
		"core-site.xml":          f.core,
		"hdfs-site.xml":          f.hdfs,
		"yarn-site.xml":          f.yarn,
		"capacity-scheduler.xml": f.scheduler,
	} {
		if properties == nil {
			continue
		}
		text, err := siteXML(properties)
		if err != nil {
			return false, err
		}
		files[name] = text
	}
	// HDFS daemons require a folder for each web application on the class path. The jars do not contain the pages.
	for _, app := range []string{"hdfs", "datanode"} {
		files[filepath.Join("webapps", app, "WEB-INF", "web.xml")] = []byte("<web-app/>\n")
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(dir, name)
		if before, err := os.ReadFile(path); err == nil && bytes.Equal(before, files[name]) {
			continue
		}
		changed = true
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return changed, err
		}
		if err := replaceFile(path, files[name]); err != nil {
			return changed, err
		}
	}
	return changed, nil
}

// replaceFile replaces a file at once: readers see the whole old file or the whole new one.
func replaceFile(path string, content []byte) error {
	beside := path + ".new"
	if err := os.WriteFile(beside, content, 0o644); err != nil {
		return err
	}
	return os.Rename(beside, path)
}

// siteXML returns the properties in Hadoop's format, sorted by their names.
func siteXML(properties map[string]string) ([]byte, error) {
	type property struct {
		Name  string `xml:"name"`
		Value string `xml:"value"`
	}
	var file struct {
		XMLName    xml.Name   `xml:"configuration"`
		Properties []property `xml:"property"`
	}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		file.Properties = append(file.Properties, property{name, properties[name]})
	}
	var b bytes.Buffer
	b.WriteString(xml.Header)
	enc := xml.NewEncoder(&b)
	enc.Indent("", "  ")
	if err := enc.Encode(file); err != nil {
		return nil, err
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}

func log4j(level string) []byte {
	return []byte("log4j.rootLogger=" + level + `, stderr
log4j.appender.stderr=org.apache.log4j.ConsoleAppender
log4j.appender.stderr.target=System.err
log4j.appender.stderr.layout=org.apache.log4j.PatternLayout
log4j.appender.stderr.layout.ConversionPattern=%d{ISO8601} %p %c{2}: %m%n
log4j.logger.org.apache.hadoop.util.NativeCodeLoader=ERROR
`)
}
