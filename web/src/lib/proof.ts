// The proof that a request comes from this page. The page that `bobbin open` opens keeps it in this browser, for this
// address with its port. The cookie alone only looks, because browsers send cookies to all ports of a host.
const place = 'bobbin-csrf'

/** proof returns the headers of a request; none if this browser did not come by a link. */
export function proof(): Record<string, string> {
  try {
    const value = localStorage.getItem(place)
    return value === null ? {} : { 'X-Bobbin-CSRF': value }
  } catch {
    return {} // this browser stores nothing for pages
  }
}
