// Package sitecert is a certificate of the site for a door that browsers use: REST of the ApplicationMaster and the
// history server (security.ssl.rest.certificate). It reads and checks the files, and decides with each handshake whether
// the client gets this certificate or the application's own.
//
// Nothing here has state after it was made, and the package starts no goroutines. Its errors name the file and the
// remedy, and wrap ErrUnusable or the cause.
package sitecert
