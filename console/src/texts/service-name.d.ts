/** The name of the service in each language, from the service's own definition; the build writes it into the pages. */
declare module 'virtual:service-name' {
  const serviceNames: Readonly<Record<'en' | 'nl', string>>
  export default serviceNames
}
