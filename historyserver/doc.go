// Package historyserver shows jobs whose applications have ended, and the last known state of those that run: it lists
// directories of archives that ApplicationMasters have written, Bobbin's and Flink's, keeps the newest archives in a local
// folder, and answers REST's paths about these jobs.
//
// The core is pure: it decides which archives are fetched, kept and dropped. Server is the shell. It owns the goroutines of
// its HTTP server, of one refresh at a time, and of one that reads the certificate again, which end with Run. Its memory and its folder have bounds, whatever
// the directories hold. Users may write there: so an archive is data of its writer, and says nothing about
// another job. The package must never import a role.
package historyserver
