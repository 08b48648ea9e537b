package sasl

// Protects returns the quality of protection of a layer. For nil, which means no layer, it
// is QOPAuthentication.
func Protects(l Layer) QOP {
	if l == nil {
		return QOPAuthentication
	}
	return l.QOP()
}

func (d *digestLayer) QOP() QOP { return qopOf(d.send.seal != nil) }

func (g *gssLayer) QOP() QOP { return qopOf(g.sealed) }

// qopOf returns the quality of protection of an existing layer.
func qopOf(sealed bool) QOP {
	if sealed {
		return QOPPrivacy
	}
	return QOPIntegrity
}
