// Sends the time zone of the visitor to the server in a cookie, and fills it into empty time zone fields.
const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
// biome-ignore lint/suspicious/noDocumentCookie: the store of cookies is not in every browser
document.cookie = `time_zone=${timeZone}; Path=/projects; Max-Age=31536000; SameSite=Lax`;
for (const field of document.querySelectorAll('input[list=time-zones]')) field.value ||= timeZone;
