// Package clienttoam is the door of other users: who may view an application on
// a Kerberized cluster gets a token from YARN's ResourceManager
// (YARN_CLIENT_TOKEN, in the application's report), and proves himself with it
// to the ApplicationMaster, and the ApplicationMaster to him. The owner's
// certificate authority takes no part, as only the owner can read it.
//
// Both know the token's password: the client got it from YARN, the
// ApplicationMaster makes it of the token's identifier and a key that YARN gave
// it when it registered. Neither sends it. Each sends an HMAC of what TLS 1.3
// exports of the connection (RFC 8446 §7.5), so that a proof is worth nothing
// on any other connection:
//
//	client                                                              ApplicationMaster
//	  │ ───────────── TLS 1.3, the certificate is not looked at ────────────► │
//	  │ HEAD /config                                                          │
//	  │ Authorization: ClientToAM token=<identifier>,                         │
//	  │                proof=HMAC-SHA256(password, "client" ‖ exported) ────► │ checks
//	  │ ◄─ Authentication-Info: proof=HMAC-SHA256(password, "server" ‖ exported)
//	  │ checks                                                                │
//	  │ ◄──────────────── from here on, any requests and answers ───────────► │
//
// Who sits in between has two connections with two exports: what he hears on
// one does not fit the other. He learns the identifier, which is the attempt
// and the user's name, and he can guess at the key; YARN's keys have 64 bits
// unless hadoop.security.secret-manager.key-length says otherwise. So the
// client speaks first: the ApplicationMaster gives nobody a proof to guess at.
// Nothing else is sent before both proofs have been checked. The connection is
// the user's from then on: none of its requests needs a proof of its own.
//
// The package starts no goroutine, and imports nothing of ours but yarnrpc's
// records and tokens.
package clienttoam
