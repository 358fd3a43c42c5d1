package org.example;

import com.nedap.archie.rm.archetyped.FeederAudit;
import com.nedap.archie.rm.generic.PartyProxy;
import java.time.temporal.TemporalAccessor;
import org.ehrbase.openehr.sdk.generator.commons.annotations.Archetype;
import org.ehrbase.openehr.sdk.generator.commons.annotations.Entity;
import org.ehrbase.openehr.sdk.generator.commons.annotations.Path;
import org.ehrbase.openehr.sdk.generator.commons.interfaces.EntryEntity;
import org.ehrbase.openehr.sdk.generator.commons.shareddefinition.Language;

/** An observation in such a composition. */
@Entity
@Archetype("openEHR-EHR-OBSERVATION.pressure_of_tests.v1")
public class PressureObservation implements EntryEntity {
  @Path("/data[at0001]/origin|value")
  private TemporalAccessor originValue;

  @Path("/data[at0001]/events[at0002]/time|value")
  private TemporalAccessor timeValue;

  @Path("/data[at0001]/events[at0002]/data[at0003]/items[at0004]/value|magnitude")
  private Double systolicMagnitude;

  @Path("/data[at0001]/events[at0002]/data[at0003]/items[at0004]/value|units")
  private String systolicUnits;

  @Path("/data[at0001]/events[at0002]/data[at0003]/items[at0005]/value|magnitude")
  private Double diastolicMagnitude;

  @Path("/data[at0001]/events[at0002]/data[at0003]/items[at0005]/value|units")
  private String diastolicUnits;

  @Path("/subject")
  private PartyProxy subject;

  @Path("/language")
  private Language language;

  @Path("/feeder_audit")
  private FeederAudit feederAudit;

  public TemporalAccessor getOriginValue() {
    return originValue;
  }

  public void setOriginValue(TemporalAccessor originValue) {
    this.originValue = originValue;
  }

  public TemporalAccessor getTimeValue() {
    return timeValue;
  }

  public void setTimeValue(TemporalAccessor timeValue) {
    this.timeValue = timeValue;
  }

  public Double getSystolicMagnitude() {
    return systolicMagnitude;
  }

  public void setSystolicMagnitude(Double systolicMagnitude) {
    this.systolicMagnitude = systolicMagnitude;
  }

  public String getSystolicUnits() {
    return systolicUnits;
  }

  public void setSystolicUnits(String systolicUnits) {
    this.systolicUnits = systolicUnits;
  }

  public Double getDiastolicMagnitude() {
    return diastolicMagnitude;
  }

  public void setDiastolicMagnitude(Double diastolicMagnitude) {
    this.diastolicMagnitude = diastolicMagnitude;
  }

  public String getDiastolicUnits() {
    return diastolicUnits;
  }

  public void setDiastolicUnits(String diastolicUnits) {
    this.diastolicUnits = diastolicUnits;
  }

  public PartyProxy getSubject() {
    return subject;
  }

  public void setSubject(PartyProxy subject) {
    this.subject = subject;
  }

  public Language getLanguage() {
    return language;
  }

  public void setLanguage(Language language) {
    this.language = language;
  }

  public FeederAudit getFeederAudit() {
    return feederAudit;
  }

  public void setFeederAudit(FeederAudit feederAudit) {
    this.feederAudit = feederAudit;
  }
}
