// Package clienttoam authenticates users who are not the owner of an application. On a Kerberized
// cluster, a user who may view an application gets a token from YARN's ResourceManager
// (YARN_CLIENT_TOKEN, in the application's report). With it the user and the ApplicationMaster
// prove their identities to each other. The owner's certificate authority takes no part, because
// only the owner can read it.
//
// Both ends know the token's password. The client got it from YARN. The ApplicationMaster computes
// it from the token's identifier and a key, which YARN gave it at its registration. Neither end
// sends the password. Each end sends an HMAC of the keying material that TLS 1.3 exports for the
// connection (RFC 8446 §7.5), so a proof is worthless on any other connection:
//
//	client                                                              ApplicationMaster
//	  │ ───────────── TLS 1.3, the certificate is not checked ──────────────► │
//	  │ HEAD /config                                                          │
//	  │ Authorization: ClientToAM token=<identifier>,                         │
//	  │                proof=HMAC-SHA256(password, "client" ‖ exported) ────► │ checks
//	  │ ◄─ Authentication-Info: proof=HMAC-SHA256(password, "server" ‖ exported)
//	  │ checks                                                                │
//	  │ ◄──────────────── from here on, any requests and answers ───────────► │
//
// An attacker in the middle has two connections with two exports, so a proof from one is not valid
// on the other. The attacker learns the identifier, that is, the attempt and the user's name, and
// can try to guess the key: YARN's keys have 64 bits unless
// hadoop.security.secret-manager.key-length says otherwise. Therefore the client sends its proof
// first. The ApplicationMaster gives no proof to a client that has not proven its identity. Neither
// end sends anything else before both proofs are checked. After that the connection belongs to the
// user, and its requests need no further proof.
//
// The package starts no goroutine. Of this module it imports only yarnrpc's records and tokens.
package clienttoam
